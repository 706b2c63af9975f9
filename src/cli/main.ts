#!/usr/bin/env node
import '../ends-on-old-node.ts';
import { isRdcpError } from '../errors.ts';
import { escapeUnprintable, escapeUnprintableInLines } from '../printable.ts';
import { VERSION } from '../version.ts';
import { dispatch, type Terminal, UsageError } from './command.ts';
import { root } from './commands/root.ts';
import { explain } from './explain.ts';

const terminal: Terminal = {
  out: (text) => process.stdout.write(`${escapeUnprintableInLines(text)}\n`),
  note: (text) => process.stderr.write(`${escapeUnprintableInLines(text)}\n`),
  env: process.env,
  cwd: process.cwd(),
  now: () => Date.now(),
};

async function main(args: readonly string[]): Promise<number> {
  if (args[0] === '--version' || args[0] === '-v') {
    terminal.out(VERSION);
    return 0;
  }
  try {
    return await dispatch(root, ['rdcp'], args, terminal);
  } catch (error) {
    if (error instanceof UsageError) {
      terminal.note(`rdcp: ${escapeUnprintable(error.message)}`);
      return 2;
    }
    terminal.note(`rdcp: ${escapeUnprintable(isRdcpError(error) ? explain(error) : messageOf(error))}`);
    return 1;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// A reader such as `head` that has seen enough is no failure of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
// A store's connections keep no process alive, and one that ends in the middle of a command ends as if all were well.
const working = setInterval(() => {}, 2 ** 30);
void main(process.argv.slice(2)).then((code) => {
  clearInterval(working);
  process.exitCode = code;
});
