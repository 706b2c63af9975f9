import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assertBuilt, ROOT } from '../support/built.ts';
import { PROGRAM_ENV } from '../support/program-env.ts';
import { until } from '../support/until.ts';
import { type Child, start } from './child.ts';

/** Certificates are made first, by a dozen processes, or a store is started. */
const START_MS = 90_000;

interface Start {
  readonly env?: NodeJS.ProcessEnv;
  /** Arguments of Node before the program. */
  readonly node?: readonly string[];
  readonly args?: readonly string[];
}

/** An example that tells at its start what to try, in a folder of its own. */
export interface Guided {
  readonly child: Child;
  readonly cwd: string;
  end(): Promise<number | NodeJS.Signals | null>;
}

export async function startGuided(main: string, { env, node = [], args = [] }: Start): Promise<Guided> {
  assertBuilt();
  const cwd = mkdtempSync(join(tmpdir(), 'rdcp-example-'));
  const child = await start(process.execPath, [...node, join(ROOT, main), ...args], {
    cwd,
    env: { ...PROGRAM_ENV, ...env },
  });
  const end = async () => {
    const code = await child.end();
    rmSync(cwd, { recursive: true });
    return code;
  };
  try {
    const guide = () => (child.output.stdout.includes('Ctrl-C') ? true : undefined);
    await until('its guide', guide, START_MS);
  } catch (cause) {
    await end();
    throw new Error(`the example did not start: ${child.output.stdout}${child.output.stderr}`, { cause });
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
