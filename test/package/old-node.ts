import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { unsupportedNode } from '../../src/otel/loading/node-version.ts';

/** A Node on this machine that is older than the package allows. */
export function findOldNode(): string | undefined {
  const candidates = (process.env.PATH ?? '').split(delimiter).map((directory) => join(directory, 'node'));
  return candidates.find((file) => {
    if (file.includes('node_modules') || !existsSync(file)) return false;
    return unsupportedNode(execFileSync(file, ['-p', 'process.versions.node'], { encoding: 'utf8' })) !== undefined;
  });
}
