import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { commandLineDocument } from '../../docs/document.ts';
import { SCENES } from '../../docs/pictures/record.ts';
import { type Command, type Commands, EXIT, type Group } from '../../src/tools/cli/command.ts';
import { root } from '../../src/tools/cli/commands/root.ts';
import { run } from '../../src/tools/cli/program.ts';
import { createTerminal } from '../../src/tools/cli/terminal.ts';
import { blocksOf } from '../documents/blocks.ts';
import { ROOT } from '../support/built.ts';
import { wordsOf } from './run.ts';

test('docs/command-line.md is as the commands have it', async () => {
  const text = readFileSync(join(ROOT, 'docs', 'command-line.md'), 'utf8');
  assert.equal(text, await commandLineDocument(), 'run `npm run document`');
});

/** The commands as they are, which only take their arguments. */
function onlyParsed(commands: Commands): Commands {
  const parsed = Object.entries(commands).map(([name, found]): [string, Group | (() => Promise<Command>)] => {
    if ('commands' in found) return [name, { ...found, commands: onlyParsed(found.commands) }];
    const load = async (): Promise<Command> => {
      const command = await found();
      const { subcommands } = command;
      return { ...command, ...(subcommands && { subcommands: onlyParsed(subcommands) }), run: async () => EXIT.done };
    };
    return [name, load];
  });
  return Object.fromEntries(parsed);
}

/** The words of each `rdcp …` in shell code. */
function commandsIn(code: string): string[][] {
  const lines = code.replaceAll('\\\n', ' ').split('\n');
  const commands = lines
    .filter((line) => !line.startsWith('#'))
    .flatMap((line) => [...line.matchAll(/(?<![\w/.-])rdcp ((?:'[^']*'|"[^"]*"|[^\s'"|;)#<>]+|[ ])+)/g)]);
  return commands.map(([, words = '']) => wordsOf(words));
}

// Those of the other documents run: test/documents/commands.test.ts.
test('the examples of the help and the commands of the recording are what rdcp takes', async () => {
  const examples = blocksOf('sh').filter(({ document }) => document === 'docs/command-line.md');
  const found = [...examples.map(({ code }) => code), ...SCENES.map(({ command }) => command)].flatMap(commandsIn);
  assert.ok(found.length > 60, `${found.length}`);
  const commands = { ...root, commands: onlyParsed(root.commands) };
  const taken = (words: readonly string[]) => {
    const [stdout, stderr, stdin] = [new PassThrough(), new PassThrough(), new PassThrough()];
    return run('rdcp', commands, words, createTerminal({ stdout, stderr, stdin, env: {}, cwd: ROOT }));
  };
  for (const words of found) assert.equal(await taken(words), EXIT.done, words.join(' '));
  await assert.rejects(taken(['enable', 'DATABASE', '--fro', '5m']), /unknown option '--fro'/);
});
