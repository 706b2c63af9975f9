import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, it, test } from 'node:test';
import { commandLineDocument } from '../../docs/document.ts';
import { SCENES } from '../../docs/pictures/record.ts';
import { type Command, type Commands, EXIT, type Group } from '../../src/tools/cli/command.ts';
import { root } from '../../src/tools/cli/commands/root.ts';
import { run } from '../../src/tools/cli/program.ts';
import { createTerminal } from '../../src/tools/cli/terminal.ts';

const ROOT = join(import.meta.dirname, '..', '..');

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

/** The words of each `rdcp …` in the shell code of a document. */
function commandsIn(document: string): string[][] {
  const text = readFileSync(join(ROOT, document), 'utf8');
  const code = [...text.matchAll(/^```sh\n(.*?)^```/gms)].map(([, lines = '']) => lines.replaceAll('\\\n', ' '));
  const lines = code.flatMap((block) => block.split('\n').filter((line) => !line.startsWith('#')));
  return lines.flatMap(wordsOf);
}

function wordsOf(line: string): string[][] {
  return [...line.matchAll(/(?<![\w/.-])rdcp ((?:'[^']*'|"[^"]*"|[^\s'"|;)#<>]+|[ ])+)/g)].map(([, words = '']) =>
    [...words.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, single, double, bare]) => single ?? double ?? bare ?? ''),
  );
}

describe('a command in the documents is one that rdcp takes', () => {
  const commands = { ...root, commands: onlyParsed(root.commands) };
  const documents = ['README.md', ...globSync('docs/*.md', { cwd: ROOT })];
  const found = documents.map((document) => ({ document, lines: commandsIn(document) }));
  found.push({ document: 'docs/pictures/record.ts', lines: SCENES.flatMap(({ command }) => wordsOf(command)) });
  const terminal = () =>
    createTerminal({
      stdout: new PassThrough(),
      stderr: new PassThrough(),
      stdin: new PassThrough(),
      env: {},
      cwd: ROOT,
    });

  for (const { document, lines } of found.filter(({ lines }) => lines.length > 0)) {
    it(`${document}: ${lines.length} of them`, async () => {
      for (const words of lines)
        assert.equal(await run('rdcp', commands, words, terminal()), EXIT.done, words.join(' '));
    });
  }

  it('which finds one that is not', async () => {
    await assert.rejects(
      run('rdcp', commands, ['enable', 'DATABASE', '--fro', '5m'], terminal()),
      /unknown option '--fro'/,
    );
  });

  it('and finds them', () => {
    const total = found.reduce((sum, { lines }) => sum + lines.length, 0);
    assert.ok(total > 60, `${total}`);
  });
});
