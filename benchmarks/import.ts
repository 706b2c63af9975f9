// How long importing the api takes, in fresh processes: that of the built files, without Node's own start. And what is
// imported: the api nothing but files of its own, the root no SDK.

import { execFileSync } from 'node:child_process';
import { built, median, publish, verdict } from './measurement.ts';

const PROCESSES = 15;

interface Imported {
  readonly milliseconds: number;
  /** Every module that is no part of Node. */
  readonly modules: readonly string[];
}

/** @param watched slower, but tells the modules */
function importFresh(entry: string, watched = false): Imported {
  const script = `
    import { registerHooks } from 'node:module';
    const modules = [];
    if (${watched}) registerHooks({
      load(url, context, next) {
        if (!url.startsWith('node:')) modules.push(url);
        return next(url, context);
      },
    });
    const start = performance.now();
    await import(${JSON.stringify(built(entry))});
    console.log(JSON.stringify({ milliseconds: performance.now() - start, modules }));
  `;
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  return JSON.parse(printed) as Imported;
}

const milliseconds = median(Array.from({ length: PROCESSES }, () => importFresh('api.js').milliseconds));
const foreign = importFresh('api.js', true).modules.filter((url) => !url.startsWith(built('')));
const sdk = importFresh('index.js', true).modules.filter((url) => url.includes('@opentelemetry/sdk-'));

publish({
  timings: [],
  verdicts: [
    verdict('importing the api', '<= 5 ms', `${milliseconds.toFixed(1)} ms`, milliseconds <= 5, milliseconds),
    verdict(
      'modules of others that the api loads',
      'none',
      String(foreign.length),
      foreign.length === 0,
      foreign.length,
    ),
    verdict('modules of the SDK that the root loads', 'none', String(sdk.length), sdk.length === 0, sdk.length),
  ],
});
