import { readFileSync } from 'node:fs';
import nodeModule, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The file that `import` of a package would load in the file `from`. `import.meta.resolve` cannot resolve from another file. */
export function importedFile(name: string, from: string): string {
  // Absent in Node 20, which must get as far as the message about its version.
  const manifest = nodeModule.findPackageJSON(name, pathToFileURL(from));
  let target = manifest && JSON.parse(readFileSync(manifest, 'utf8')).exports?.['.'];
  while (typeof target === 'object' && target !== null) target = target.import ?? target.default;
  return manifest !== undefined && typeof target === 'string'
    ? join(dirname(manifest), target)
    : createRequire(from).resolve(name);
}
