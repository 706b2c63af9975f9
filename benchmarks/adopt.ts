// What an adopted logger costs beside itself without us, in one process: two copies of each library, of which the hook finds
// the one that is loaded under the remote control. Off is what every service pays all the time. On, both write to a function
// that does nothing, so that the difference is ours.

import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import { built, type Candidate, compare, ns, publish, time, verdict } from './measurement.ts';

const require = createRequire(import.meta.url);
const { createRdcp }: typeof import('../src/index.ts') = await import(built('index.js'));

/** One call that is off and one that is on. */
interface Calls {
  readonly off: () => void;
  readonly on: () => void;
}

/** Makes the loggers of a library: `quiet` is off, `loud` on. */
interface Logger {
  readonly name: string;
  readonly create: (adopted: boolean) => Calls;
}

const debug = (load: () => unknown): Logger['create'] => {
  return (adopted) => {
    const createDebug = load() as (name: string) => ((...args: unknown[]) => void) & { log: unknown; enabled: boolean };
    const [quiet, loud] = [createDebug('quiet'), createDebug('loud')];
    loud.log = () => {};
    if (!adopted) loud.enabled = true;
    return { off: () => quiet('m', { a: 1 }), on: () => loud('m %d', 1) };
  };
};

const pino = (name: string, options: object = {}): Logger['create'] => {
  return () => {
    const create = require(name) as typeof import('pino').default;
    const out = { write: () => {} };
    const root = create({ name: 'quiet' }, out);
    // A child with a category of its own, or one of its parent.
    const quiet = root.child({ ...options });
    const loud = create({ name: 'loud', level: 'debug' }, out);
    return { off: () => quiet.debug({ a: 1 }, 'm'), on: () => loud.debug({ a: 1 }, 'm') };
  };
};

const winston: Logger['create'] = () => {
  const { createLogger, transports } = require('winston') as typeof import('winston');
  const stream = new Writable({ write: (_chunk, _encoding, done) => done() });
  const create = (level: string, service: string) =>
    createLogger({ level, defaultMeta: { service }, transports: [new transports.Stream({ stream })] });
  const [quiet, loud] = [create('info', 'quiet'), create('debug', 'loud')];
  return { off: () => void quiet.debug('m', { a: 1 }), on: () => void loud.debug('m', { a: 1 }) };
};

const LOGGERS: readonly Logger[] = [
  { name: 'pino 8', create: pino('pino-8') },
  { name: 'pino 10', create: pino('pino') },
  { name: 'pino 10, named child', create: pino('pino', { module: 'quiet' }) },
  { name: 'winston 3', create: winston },
  { name: 'debug 2.6.9', create: debug(() => require('debug-2')) },
  { name: 'debug 4.3.1', create: debug(() => require('debug-4.3.1')) },
  { name: 'debug 4.4.3', create: debug(() => require('debug')) },
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
    categories: { LOUD: { enabled: true } },
  }),
);
const adopted = LOGGERS.map(({ create }) => create(true));

const EMPTY = 'empty loop';
const candidates: Candidate[] = [{ name: EMPTY, call: () => {} }];
for (const [at, { name }] of LOGGERS.entries()) {
  for (const state of ['off', 'on'] as const) {
    candidates.push({ name: `${name} ${state}`, call: bare[at]![state] });
    candidates.push({ name: `${name} ${state}, adopted`, call: adopted[at]![state] });
  }
}
const timings = await time(candidates);

publish({
  timings,
  verdicts: LOGGERS.flatMap(({ name }) =>
    (['off', 'on'] as const).map((state) => {
      const names = [`${name} ${state}, adopted`, `${name} ${state}`, EMPTY];
      const ratio = compare(timings, names, (ours, own, empty) => (ours - empty) / Math.max(own - empty, 0.1));
      const more = compare(timings, names, (ours, own) => ours - own);
      const [limit, target] = state === 'off' ? [1.3, '<= 1.3 of itself, or 3 ns more'] : [1.15, '<= 1.15 of itself'];
      const met = ratio <= limit || (state === 'off' && more <= 3);
      return verdict(`adopted ${name}, ${state}`, target, `${ratio.toFixed(2)} (${ns(more)} more)`, met, ratio);
    }),
  ),
});
