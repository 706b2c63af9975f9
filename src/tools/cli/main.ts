#!/usr/bin/env node
import '../../otel/loading/ends-on-old-node.ts';
import { rdcp } from './rdcp.ts';

// A reader such as `head` closes the pipe early; that is not an error.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  if (code !== 'EPIPE') process.stderr.write(`rdcp: the output cannot be written (${code})\n`);
  process.exit(code === 'EPIPE' ? 0 : 1);
});
// A command goes on when the reader of its notes is gone.
process.stderr.on('error', () => undefined);
const { stdout, stderr, env } = process;
const host = {
  stdout,
  stderr,
  env,
  cwd: process.cwd(),
  get stdin() {
    return process.stdin;
  },
  browse: async (url: string) => (await import('./browser.ts')).openInBrowser(url, env),
  interruption,
  interrupt: () => process.kill(process.pid, 'SIGINT'),
};
void rdcp(process.argv.slice(2), host).then((code) => {
  process.exitCode = code;
});

/** A second signal ends the process at once. */
function interruption(): AbortSignal {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
  return interrupted.signal;
}
