import { readFileSync } from 'node:fs';
import nodeModule, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { RdcpError } from '../errors.ts';

// Packages that only `register` loads, and at once: an `await` would keep this entry from being required. From ES modules
// their ES modules are loaded, as by `import`: their CommonJS would load OpenTelemetry's API a second time, beside the one
// that we import.

const require = createRequire(import.meta.url);
/** Absent in our CommonJS. */
const resolve = import.meta.resolve as ((name: string) => string) | undefined;

/**
 * A package that the application has installed beside this one.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` when it is missing
 */
export function loadPackage(name: string) {
  try {
    return require(resolve === undefined ? name : fileURLToPath(resolve(name)));
  } catch (cause) {
    throw new RdcpError('RDCP_CONFIG_INVALID', `${name} is needed here: npm install ${name}`, { cause });
  }
}

/** A package that another one depends on, in the version that it uses. */
export function loadPackageOf(owner: string, name: string) {
  const requireThere = createRequire(require.resolve(owner));
  return requireThere(resolve === undefined ? name : (esModuleOf(name, requireThere.resolve(owner)) ?? name));
}

/** The file that `import` loads of a package with ES modules. Node resolves only from the file that asks. */
function esModuleOf(name: string, from: string): string | undefined {
  // Node 20 has none, and is to read the line about its version.
  const manifest = nodeModule.findPackageJSON(name, pathToFileURL(from));
  if (manifest === undefined) return undefined;
  let target = JSON.parse(readFileSync(manifest, 'utf8')).exports?.['.'];
  while (typeof target === 'object' && target !== null) target = target.import ?? target.default;
  return typeof target === 'string' ? join(dirname(manifest), target) : undefined;
}
