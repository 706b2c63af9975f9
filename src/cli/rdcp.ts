import { isRdcpError } from '../errors.ts';
import { escapeUnprintable, escapeUnprintableInLines } from '../printable.ts';
import { VERSION } from '../version.ts';
import { dispatch, type Terminal, UsageError } from './command.ts';
import { root } from './commands/root.ts';
import { explain } from './explain.ts';

/** The parts of the process that the command uses. */
export interface Host {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  readonly env: Terminal['env'];
  readonly cwd: string;
}

/** Runs the `rdcp` command. @returns its exit code: 0 success, 1 failure, 2 usage error */
export async function rdcp(args: readonly string[], { stdout, stderr, env, cwd }: Host): Promise<number> {
  const terminal: Terminal = {
    out: (text) => stdout.write(`${escapeUnprintableInLines(text)}\n`),
    note: (text) => stderr.write(`${escapeUnprintableInLines(text)}\n`),
    env,
    cwd,
    now: () => Date.now(),
  };
  if (args[0] === '--version' || args[0] === '-v') {
    terminal.out(VERSION);
    return 0;
  }
  // Connections of a store do not keep the process alive: without a timer it could exit with 0 in the middle of a command.
  const working = setInterval(() => {}, 2 ** 30);
  try {
    return await dispatch(root, ['rdcp'], args, terminal);
  } catch (error) {
    if (error instanceof UsageError) {
      terminal.note(`rdcp: ${escapeUnprintable(error.message)}`);
      return 2;
    }
    terminal.note(`rdcp: ${escapeUnprintable(isRdcpError(error) ? explain(error) : messageOf(error))}`);
    return 1;
  } finally {
    clearInterval(working);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
