import { readFileSync } from 'node:fs';
import nodeModule, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { RdcpError } from '../errors.ts';
import { handedOn } from '../handed-on.ts';
import { withoutOpeningStdin } from './own-process-module.ts';

// Loads packages that only `register` needs. Loading is synchronous, because a module with a top-level `await` cannot be
// required. ES modules where there are any: their CommonJS would load a second copy of OpenTelemetry's API.

const require = createRequire(import.meta.url);
/** Loads an ES module. `undefined` where `register` itself was loaded as CommonJS. */
const load =
  (import.meta.resolve as unknown) === undefined
    ? handedOn()
    : (name: string) => require(fileURLToPath(import.meta.resolve(name)));

/**
 * Loads a package that the application has to install.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` if it is missing
 */
export function loadPackage(name: string) {
  try {
    return withoutOpeningStdin(() => (load ?? require)(name));
  } catch (cause) {
    throw new RdcpError('RDCP_CONFIG_INVALID', `missing package ${name}: run npm install ${name}`, { cause });
  }
}

/** Loads a dependency of another package, in the version that the other package uses. */
export function loadPackageOf(owner: string, name: string) {
  const requireThere = createRequire(require.resolve(owner));
  const file = load === undefined ? name : (esModuleOf(name, requireThere.resolve(owner)) ?? name);
  return withoutOpeningStdin(() => requireThere(file));
}

/** The file that `import` of a package would load. `import.meta.resolve` cannot resolve from another file. */
function esModuleOf(name: string, from: string): string | undefined {
  // Absent in Node 20, which must get as far as the message about its version.
  const manifest = nodeModule.findPackageJSON(name, pathToFileURL(from));
  if (manifest === undefined) return undefined;
  let target = JSON.parse(readFileSync(manifest, 'utf8')).exports?.['.'];
  while (typeof target === 'object' && target !== null) target = target.import ?? target.default;
  return typeof target === 'string' ? join(dirname(manifest), target) : undefined;
}
