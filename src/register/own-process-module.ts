import nodeModule from 'node:module';
import { hooksMix } from '../adopt/hook.ts';

/** The streams that Node.js opens when they are read. */
const STREAMS = ['stdin', 'stdout', 'stderr'];

/**
 * Loads packages of OpenTelemetry without opening `process.stdin`. The first ES module that imports `node:process` makes
 * Node.js read all its properties, and a module of OpenTelemetry's does. A pipe is non-blocking from then on: the application's
 * `fs.readFileSync(0)` fails with EAGAIN. These packages import a module with the other properties instead.
 */
export function withoutOpeningStdin<T>(load: () => T): T {
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
