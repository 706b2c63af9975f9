import type { ChildProcess } from 'node:child_process';

/** What a program has written so far on both of its outputs, as it grows. */
export function outputOf(child: Pick<ChildProcess, 'stdout' | 'stderr'>): { stdout: string; stderr: string } {
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  return output;
}
