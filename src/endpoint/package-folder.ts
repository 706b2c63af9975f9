import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { INSTRUMENTATION_NAME } from '../wire/version.ts';

export function packageFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!isOurs(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error('the files of this package are not beside this code');
    folder = parent;
  }
  return folder;
}

function isOurs(manifest: string): boolean {
  return existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).name === INSTRUMENTATION_NAME;
}
