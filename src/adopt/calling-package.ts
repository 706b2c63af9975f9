import util from 'node:util';
import { INSTRUMENTATION_NAME } from '../version.ts';

/** Frames that are looked at: ours, those of the logging library, and the one of the code that called it. */
const MAX_FRAMES = 32;

/** Packages that lie between a logger and the code that made it. */
const BETWEEN: ReadonlySet<string> = new Set([INSTRUMENTATION_NAME, 'debug', 'pino', 'winston', '@nestjs/common']);

/**
 * The package in `node_modules` whose code makes a logger now; `undefined` for the application's own code. Reads the call
 * stack, so call it once for each logger.
 */
export function callingPackage(): string | undefined {
  // Other runtimes than Node.js may lack it.
  const [here = '', ...files] = (util.getCallSites?.(MAX_FRAMES, { sourceMap: false }) ?? []).map(({ scriptName }) =>
    scriptName.replaceAll('\\', '/').replace(/^file:\/\//, ''),
  );
  const ours = here.replace(/[^/]*\/[^/]*$/, '');
  for (const file of files) {
    if (file === '' || file.startsWith('node:') || file.startsWith(ours)) continue;
    const name = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1];
    if (name === undefined || !BETWEEN.has(name)) return name;
  }
  return undefined;
}
