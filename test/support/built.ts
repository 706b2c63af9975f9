import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const modified = (path: string) => statSync(join(ROOT, path)).mtimeMs;

/**
 * A file of `dist/`. Programs that tests start run the build: it starts in a third of the time that the sources take.
 * @throws where it is older than a source
 */
export function built(path: string): string {
  const file = join(ROOT, 'dist', path);
  const since = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const newer = globSync('src/**/*.ts', { cwd: ROOT }).find((source) => modified(source) > since);
  if (newer !== undefined) throw new Error(`${newer} is newer than dist/${path}: npm run build`);
  return file;
}
