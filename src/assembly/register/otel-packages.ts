import { readFileSync } from 'node:fs';
import nodeModule, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { hooksMix } from '../../adopt/hook.ts';
import { RdcpError } from '../../wire/errors.ts';

// Loads packages that only `register` needs, by `require`, because a module with a top-level `await` cannot be required. An ES
// module loads their ES modules: their CommonJS would load a second copy of OpenTelemetry's API.

const require = createRequire(import.meta.url);
const isCommonJs = (import.meta.resolve as unknown) === undefined;

/**
 * Loads a package that the application has to install.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` if it is missing
 */
export function loadPackage(name: string) {
  try {
    loadWhatImportsProcess(name);
    return require(isCommonJs ? name : fileURLToPath(import.meta.resolve(name)));
  } catch (cause) {
    throw new RdcpError('RDCP_CONFIG_INVALID', `missing package ${name}: run npm install ${name}`, { cause });
  }
}

/** Loads a dependency of another package, in the version that the other package uses. */
export function loadPackageOf(owner: string, name: string) {
  const from = require.resolve(owner);
  const file = isCommonJs ? name : importedFile(name, from);
  return withoutOpeningStdin(() => createRequire(from)(file));
}

/** The file that `import` of a package would load in the file `from`. `import.meta.resolve` cannot resolve from another file. */
function importedFile(name: string, from: string): string {
  const manifest = nodeModule.findPackageJSON(name, pathToFileURL(from));
  let target = manifest && JSON.parse(readFileSync(manifest, 'utf8')).exports?.['.'];
  while (typeof target === 'object' && target !== null) target = target.import ?? target.default;
  return manifest !== undefined && typeof target === 'string'
    ? join(dirname(manifest), target)
    : createRequire(from).resolve(name);
}

/** Loads the one package that imports `node:process`, so that the others load without the hook, which costs 2 MB of memory. */
function loadWhatImportsProcess(owner: string): void {
  try {
    loadPackageOf(owner, '@opentelemetry/resources');
  } catch {
    // It does not depend on it, or is missing itself, which its own loading says.
  }
}

/** The streams that Node.js opens when they are read. */
const STREAMS = ['stdin', 'stdout', 'stderr'];

/**
 * Loads packages of OpenTelemetry without opening `process.stdin`. The first ES module that imports `node:process` makes
 * Node.js read all its properties, and a module of OpenTelemetry's does. A pipe is non-blocking from then on: the application's
 * `fs.readFileSync(0)` fails with EAGAIN. These packages import a module with the other properties instead.
 */
function withoutOpeningStdin<T>(load: () => T): T {
  if (!hooksMix()) return load();
  const hooks = nodeModule.registerHooks({
    resolve(specifier, context, next) {
      if (!/^(?:node:)?process$/.test(specifier) || !isImportOfOpenTelemetry(context)) return next(specifier, context);
      return {
        url: `data:text/javascript,${encodeURIComponent(processModule())}`,
        format: 'module',
        shortCircuit: true,
      };
    },
  });
  try {
    return load();
  } finally {
    hooks.deregister();
  }
}

function isImportOfOpenTelemetry({ conditions, parentURL }: nodeModule.ResolveHookContext): boolean {
  return conditions.includes('import') && parentURL?.includes('/@opentelemetry/') === true;
}

function processModule(): string {
  const names = Object.keys(process).filter((name) => /^[a-z]\w*$/i.test(name) && !STREAMS.includes(name));
  return `const { process } = globalThis; export default process; export const { ${names.join(', ')} } = process;`;
}
