// What an adopted logger costs beside itself without us, in one process: two copies of each library, of which the hook finds
// the one that is loaded under the remote control. Off is what every service pays all the time. On, both write to a function
// that does nothing, so that the difference is ours. What has no such function (`util.debuglog`) or is no line yet (a
// message of a channel) is measured off. Recorded, a logger that is off by itself is beside one without us that writes the line.

import { channel } from 'node:diagnostics_channel';
import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import util from 'node:util';
import { built, type Candidate, compare, ns, publish, ratio, type Surroundings, time, verdict } from './measurement.ts';

const require = createRequire(import.meta.url);
const { createRdcp }: typeof import('../src/index.ts') = await import(built('index.js'));
const { runWork }: typeof import('../src/api.ts') = await import(built('api.js'));

/** One call that is off, one that is on, and one that is off by itself and recorded. */
interface Calls {
  readonly off: () => void;
  readonly on?: () => void;
  readonly recorded?: () => void;
  readonly within?: Surroundings;
}

/** Calls in each piece of work that is recorded. */
const CALLS = 20;

/** Makes the loggers of a library: `quiet` is off, `loud` on, `kept` recorded. */
interface Logger {
  readonly name: string;
  readonly create: (adopted: boolean) => Calls;
}

let callSites = 0;

/**
 * A call site of its own: V8 compiles each for the functions that it has seen there, and in a service none sees the logger
 * with us and the one without. The number makes each text another one: V8 keeps what it has learnt by the text.
 */
function callSite(logger: unknown, call: string): () => void {
  callSites += 1;
  return new Function('logger', `/* ${callSites} */ return () => void ${call};`)(logger);
}

const debug = (load: () => unknown): Logger['create'] => {
  return (adopted) => {
    const createDebug = load() as (name: string) => ((...args: unknown[]) => void) & { log: unknown; enabled: boolean };
    const [quiet, loud, kept] = [createDebug('quiet'), createDebug('loud'), createDebug('kept')];
    loud.log = () => {};
    if (!adopted) loud.enabled = true;
    return {
      off: callSite(quiet, "logger('m', { a: 1 })"),
      on: callSite(loud, "logger('m %d', 1)"),
      recorded: callSite(kept, "logger('m %d', 1)"),
    };
  };
};

/** @param binding that gives a child a category of its own */
const pino = (name: string, binding?: string): Logger['create'] => {
  return () => {
    const create = require(name) as typeof import('pino').default;
    const out = { write: () => {} };
    const make = (level: string, own: string) =>
      binding === undefined
        ? create({ name: own, level }, out).child({})
        : create({ name: 'root', level }, out).child({ [binding]: own });
    const call = "logger.debug({ a: 1 }, 'm')";
    return {
      off: callSite(make('info', 'quiet'), call),
      on: callSite(make('debug', 'loud'), call),
      recorded: callSite(make('info', 'kept'), call),
    };
  };
};

const winston: Logger['create'] = () => {
  const { createLogger, transports } = require('winston') as typeof import('winston');
  const stream = new Writable({ write: (_chunk, _encoding, done) => done() });
  const create = (level: string, service: string) =>
    createLogger({ level, defaultMeta: { service }, transports: [new transports.Stream({ stream })] });
  const [quiet, loud, kept] = [create('info', 'quiet'), create('debug', 'loud'), create('info', 'kept')];
  const call = "logger.debug('m', { a: 1 })";
  return { off: callSite(quiet, call), on: callSite(loud, call), recorded: callSite(kept, call) };
};

/** Nest formats its lines; the stream that gets them drops them. */
const nest: Logger['create'] = () => {
  const { ConsoleLogger } = require('@nestjs/common') as typeof import('@nestjs/common');
  const [quiet, loud, kept] = [
    new ConsoleLogger('nest', { logLevels: ['log'] }),
    new ConsoleLogger('loud', { logLevels: ['log', 'debug'] }),
    new ConsoleLogger('kept', { logLevels: ['log'] }),
  ];
  const call = "logger.debug('m')";
  return {
    off: callSite(quiet, call),
    on: callSite(loud, call),
    recorded: callSite(kept, call),
    within: withoutStdout,
  };
};

/** What the application uses: it passes lines on to a `ConsoleLogger`. */
const nestLogger: Logger['create'] = () => {
  const { ConsoleLogger, Logger } = require('@nestjs/common') as typeof import('@nestjs/common');
  Logger.overrideLogger(new ConsoleLogger('root', { logLevels: ['log'] }));
  return { off: callSite(new Logger('nest'), "logger.debug('m')"), within: withoutStdout };
};

const withoutStdout: Surroundings = (run) => {
  const { write } = process.stdout;
  process.stdout.write = () => true;
  const back = () => {
    process.stdout.write = write;
  };
  const result = run();
  if (result instanceof Promise) return result.finally(back) as typeof result;
  back();
  return result;
};

const debuglog: Logger['create'] = () => ({ off: callSite(util.debuglog('quiet'), "logger('m', { a: 1 })") });

/** As Node.js and libraries publish: the message is made where somebody listens. */
const diagnosticsChannel: Logger['create'] = (adopted) => {
  const published = channel(adopted ? 'http.server.request.start' : 'nobody.listens');
  return { off: callSite(published, 'logger.hasSubscribers && logger.publish({ a: 1 })') };
};

const LOGGERS: readonly Logger[] = [
  { name: 'pino 8', create: pino('pino-8') },
  { name: 'pino 10', create: pino('pino') },
  { name: 'pino 10, named child', create: pino('pino', 'module') },
  { name: 'winston 3', create: winston },
  { name: 'debug 2.6.9', create: debug(() => require('debug-2')) },
  { name: 'debug 4.4.3', create: debug(() => require('debug')) },
  { name: 'Nest 11, ConsoleLogger', create: nest },
  { name: 'Nest 11, Logger', create: nestLogger },
  { name: 'util.debuglog', create: debuglog },
  { name: 'a diagnostics channel', create: diagnosticsChannel },
];

/** Runs with copies of its own. */
function withFreshCopies<T>(work: () => T): T {
  for (const file of Object.keys(require.cache)) if (!file.includes('/dist/')) delete require.cache[file];
  return work();
}

const bare = withFreshCopies(() => LOGGERS.map(({ create }) => create(false)));
withFreshCopies(() =>
  createRdcp({
    server: false,
    adopt: true,
    announce: false,
    security: { apiKeys: [] },
    controls: { budget: false },
    recorder: { categories: ['KEPT'], keepSeconds: 0 },
    // Nest writes debug lines where nobody says otherwise.
    categories: { LOUD: { enabled: true }, NEST: { enabled: false }, KEPT: { enabled: false } },
  }),
);
const adopted = LOGGERS.map(({ create }) => create(true));

const EMPTY = 'empty loop';
const candidates: Candidate[] = [{ name: EMPTY, call: () => {} }];
const measured: { readonly name: string; readonly state: 'off' | 'on' }[] = [];
const recorded: string[] = [];
for (const [at, { name }] of LOGGERS.entries()) {
  for (const state of ['off', 'on'] as const) {
    const [own, ours] = [bare[at]![state], adopted[at]![state]];
    if (own === undefined || ours === undefined) continue;
    measured.push({ name, state });
    const surroundings = bare[at]!.within && { within: bare[at]!.within };
    candidates.push(
      { name: `${name} ${state}`, call: own, ...surroundings },
      { name: `${name} ${state}, adopted`, call: ours, ...surroundings },
    );
  }
  const { recorded: call, within } = adopted[at]!;
  if (call === undefined) continue;
  recorded.push(name);
  const job = () => {
    for (let made = 0; made < CALLS; made++) call();
  };
  candidates.push({
    name: `${name} recorded`,
    calls: CALLS,
    call: () => runWork('job', job),
    ...(within && { within }),
  });
}
const timings = await time(candidates);

publish({
  timings,
  verdicts: [
    ...measured.map(verdictOf),
    ...recorded.map((name) => {
      const measured = ratio(timings, `${name} recorded`, `${name} on`);
      return verdict(
        `recorded ${name}`,
        '<= 0.35 of it writing the line',
        measured.toFixed(2),
        measured <= 0.35,
        measured,
      );
    }),
  ],
});

function verdictOf({ name, state }: (typeof measured)[number]) {
  const names = [`${name} ${state}, adopted`, `${name} ${state}`, EMPTY];
  const beside = compare(timings, names, (ours, own, empty) => (ours - empty) / Math.max(own - empty, 0.1));
  const more = compare(timings, names, (ours, own) => ours - own);
  const [limit, target] = state === 'off' ? [1.5, '<= 1.5 of itself, or 10 ns more'] : [1.3, '<= 1.3 of itself'];
  const met = beside <= limit || (state === 'off' && more <= 10);
  return verdict(`adopted ${name}, ${state}`, target, `${beside.toFixed(2)} (${ns(more)} more)`, met, beside);
}
