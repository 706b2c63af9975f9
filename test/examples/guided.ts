import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assertBuilt, ROOT } from '../support/built.ts';
import { PROGRAM_ENV } from '../support/program-env.ts';
import { until } from '../support/until.ts';
import { type Child, start } from './child.ts';

/** Certificates are made first, by a dozen processes. */
const START_MS = 60_000;

/** An example that tells at its start what to try, in a folder of its own. */
export interface Guided {
  readonly child: Child;
  readonly cwd: string;
  end(): Promise<void>;
}

export async function startGuided(main: string, variables: Readonly<Record<string, string>>): Promise<Guided> {
  assertBuilt();
  const cwd = mkdtempSync(join(tmpdir(), 'rdcp-example-'));
  const env = { ...PROGRAM_ENV, ...variables };
  const child = await start(process.execPath, [join(ROOT, main)], { cwd, env });
  const end = async () => {
    await child.end();
    rmSync(cwd, { recursive: true });
  };
  try {
    const guide = () => (child.output.stdout.includes('Ctrl-C') ? true : undefined);
    await until('its guide', guide, START_MS);
  } catch (cause) {
    await end();
    throw new Error(`the example did not start: ${child.output.stderr}`, { cause });
  }
  return { child, cwd, end };
}

/** What becomes of a command: curl fails, with a code that depends on when it sees it, where no connection is made. */
export type Expected = readonly (readonly [outcome: 'answered' | 'refused', output: RegExp])[];

/** Runs the commands of the guide, which are its indented lines, in their order. */
export async function followGuide({ child, cwd }: Guided, expected: Expected): Promise<void> {
  const commands = child.output.stdout.split('\n').filter((line) => line.startsWith('  '));
  assert.equal(commands.length, expected.length);
  for (const [index, command] of commands.entries()) {
    const [outcome, output] = expected[index] ?? [];
    const shell = await start('sh', ['-c', command], { cwd });
    const code = await shell.ended;
    const told = `${command}: ${shell.output.stdout}${shell.output.stderr}`;
    assert.equal(code === 0 ? 'answered' : 'refused', outcome, told);
    assert.match(shell.output.stdout, output ?? /./, told);
  }
}
