import util from 'node:util';
import { INSTRUMENTATION_NAME } from '../wire/version.ts';

/** Frames that are looked at: ours, those of the logging library, and the one of the code that called it. */
const MAX_FRAMES = 32;

/** Packages that lie between a logger and the code that makes or calls it. */
const LOGGERS: ReadonlySet<string | undefined> = new Set(['debug', 'pino', 'winston', '@nestjs/common']);
const BETWEEN: ReadonlySet<string | undefined> = new Set([
  ...LOGGERS,
  ...[INSTRUMENTATION_NAME, 'pino-http', 'nestjs-pino', 'nest-winston'],
]);

/** Code that makes or calls a logger. */
export interface Caller {
  /** Its package in `node_modules`; `undefined` for the application's own code. */
  readonly package: string | undefined;
}

/**
 * The code that makes or calls a logger now; `undefined` if there is none on the stack. Reads the call stack, which takes tens of
 * microseconds.
 */
export function callerOfLogger(): Caller | undefined {
  // Other runtimes than Node.js may lack it.
  const [here = '', ...files] = (util.getCallSites?.(MAX_FRAMES, { sourceMap: false }) ?? []).map(({ scriptName }) =>
    scriptName.replaceAll('\\', '/').replace(/^file:\/\//, ''),
  );
  const ours = here.replace(/[^/]*\/[^/]*$/, '');
  const packages = files
    .filter((file) => file !== '' && !file.startsWith('node:') && !file.startsWith(ours))
    .map((file) => /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]);
  const index = packages.findIndex((name, at) => !liesBetween(name, packages.slice(at)));
  return index === -1 ? undefined : { package: packages[index] };
}

/** Whether a frame is of no caller: of a logger, of OpenTelemetry, or of an agent that wraps the method of a logger. */
function liesBetween(name: string | undefined, stack: readonly (string | undefined)[]): boolean {
  if (name === undefined) return false;
  if (BETWEEN.has(name) || name.startsWith('@opentelemetry/')) return true;
  const below = stack.findIndex((each) => each !== name);
  return below !== -1 && LOGGERS.has(stack[below]);
}
