// How long importing the api and the root take, each in fresh processes and beside @opentelemetry/sdk-node in the same
// run, without Node's own start. And what is imported: the api nothing but files of its own, the root no SDK.

import { execFileSync } from 'node:child_process';
import { built, median, publish, verdict } from './measurement.ts';

const PROCESSES = 15;
const SDK = import.meta.resolve('@opentelemetry/sdk-node');

interface Imported {
  readonly milliseconds: number;
  /** Every module that is no part of Node. */
  readonly modules: readonly string[];
}

/** @param watched slower, but tells the modules */
function importFresh(url: string, watched = false): Imported {
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
    await import(${JSON.stringify(url)});
    console.log(JSON.stringify({ milliseconds: performance.now() - start, modules }));
  `;
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  return JSON.parse(printed) as Imported;
}

/** In turn, so that a neighbour on the machine does not hit one of them alone. */
function importInTurn(...urls: readonly string[]): number[] {
  const rounds = Array.from({ length: PROCESSES }, () => urls.map((url) => importFresh(url).milliseconds));
  return urls.map((_, at) => median(rounds.map((round) => round[at]!)));
}

const [api = 0, root = 0, sdk = 0] = importInTurn(built('api.js'), built('index.js'), SDK);
const foreign = importFresh(built('api.js'), true).modules.filter((url) => !url.startsWith(built('')));
const ofSdk = importFresh(built('index.js'), true).modules.filter((url) => url.includes('@opentelemetry/sdk-'));

function besideSdk(what: string, milliseconds: number, most: number) {
  const share = milliseconds / sdk;
  const measured = `${share.toFixed(3)} (${milliseconds.toFixed(1)} of ${sdk.toFixed(0)} ms)`;
  return verdict(what, `<= ${most} of importing sdk-node`, measured, share <= most, share);
}

publish({
  timings: [],
  verdicts: [
    besideSdk('importing the api', api, 0.05),
    besideSdk('importing the root', root, 0.5),
    verdict(
      'modules of others that the api loads',
      'none',
      String(foreign.length),
      foreign.length === 0,
      foreign.length,
    ),
    verdict('modules of the SDK that the root loads', 'none', String(ofSdk.length), ofSdk.length === 0, ofSdk.length),
  ],
});
