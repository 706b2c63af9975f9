import assert from 'node:assert/strict';
import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

/**
 * A file of `dist/`. Programs that tests start run the build, as its users do: it starts in a third of the time that the
 * sources take.
 * @throws where it is older than a source
 */
export function built(path: string): string {
  assertBuilt();
  return join(ROOT, 'dist', path);
}

/** @throws where `dist/` is missing, or older than a source */
export function assertBuilt(): void {
  const modified = (path: string) => statSync(join(ROOT, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const since = modified('dist/index.js');
  const newer = globSync('src/**/*.{ts,tsx,css,html,svg}', { cwd: ROOT }).find((source) => modified(source) > since);
  assert.equal(newer, undefined, `${newer} is newer than dist/: npm run build`);
}
