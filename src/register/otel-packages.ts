import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { RdcpError } from '../errors.ts';
import { handedOn } from '../handed-on.ts';
import { importedFile } from './imported-file.ts';
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
    loadWhatImportsProcess(name);
    return (load ?? require)(name);
  } catch (cause) {
    throw new RdcpError('RDCP_CONFIG_INVALID', `missing package ${name}: run npm install ${name}`, { cause });
  }
}

/** Loads a dependency of another package, in the version that the other package uses. */
export function loadPackageOf(owner: string, name: string) {
  const from = require.resolve(owner);
  const file = load === undefined ? name : importedFile(name, from);
  return withoutOpeningStdin(() => createRequire(from)(file));
}

/** Loads the one package that imports `node:process`, so that the others load without the hook, which costs 2 MB of memory. */
function loadWhatImportsProcess(owner: string): void {
  try {
    loadPackageOf(owner, '@opentelemetry/resources');
  } catch {
    // It does not depend on it, or is missing itself, which its own loading says.
  }
}
