// In a process of its own: it patches libraries, and installs global providers of OpenTelemetry.

import assert from 'node:assert/strict';
import { channel } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';
import { Writable } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import util from 'node:util';
import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { CHANNELS } from '../src/adopt/channels/channels.ts';
import { DEBUG } from '../src/adopt/debug/debug.ts';
import { DEBUGLOG } from '../src/adopt/debug/debuglog.ts';
import { NEST } from '../src/adopt/nest/nest.ts';
import { PINO } from '../src/adopt/pino/pino.ts';
import type { Source } from '../src/adopt/types.ts';
import { WINSTON } from '../src/adopt/winston/winston.ts';
import { WorkFollower } from '../src/calls/work/match.ts';
import { openTrigger } from '../src/control/alerts/measured.ts';
import { problemOf } from '../src/otel/report/reporter.ts';
import { failureCode, isRdcpError, storeProblem } from '../src/wire/errors.ts';
import { describeThrown } from '../src/wire/thrown.ts';
import { adoptionBench, loadCopy } from './adopt/bench.ts';
import { until } from './support/until.ts';
import { serve } from './work/following.ts';

context.setGlobalContextManager(new AsyncLocalStorageContextManager());
const exporter = new InMemorySpanExporter();
trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));

const throwing = () => {
  throw new Error('of the value');
};
const withField = (target: object, field: PropertyKey, property: PropertyDescriptor) =>
  Object.defineProperty(target, field, { configurable: true, enumerable: true, ...property });

/** Values of an application that throw, or are no text, wherever something is read from them. */
function hostileValues(): readonly (readonly [what: string, value: unknown])[] {
  const revoked = Proxy.revocable(new Error(), {});
  revoked.revoke();
  const traps = new Proxy({}, { get: (_target, trap) => (trap === 'getPrototypeOf' ? undefined : throwing) });
  const fields = [
    'name',
    'message',
    'stack',
    'code',
    'cause',
    'constructor',
    'err',
    'error',
    'then',
    'toJSON',
    'level',
  ];
  return [
    ...fields.map((field) => [`${field} throws`, withField(new Error('own'), field, { get: throwing })] as const),
    ...['name', 'message', 'stack', 'code'].flatMap((field) =>
      [Symbol('own'), { toString: 1 }, Object.create(null)].map(
        (value) => [`${field} is ${typeof value}`, withField(new Error('own'), field, { value })] as const,
      ),
    ),
    ['a tag that throws', withField({}, Symbol.toStringTag, { get: throwing })],
    ['a revoked proxy', revoked.proxy],
    ['a proxy that only throws', new Proxy({}, traps)],
    ['a promise that is none', Object.create(Promise.prototype)],
    ['a promise whose class throws', withField(Promise.resolve(), 'constructor', { get: throwing })],
    ...[undefined, null, Symbol('own'), 10n, 'text', Object.create(null)].map(
      (value) => [typeof value, value] as const,
    ),
  ];
}

type Outcome = { readonly returned: unknown } | { readonly threw: unknown };

function outcomeOf(call: () => unknown): Outcome {
  try {
    return { returned: call() };
  } catch (threw) {
    return { threw };
  }
}

/** Compares by identity: comparing values of the application would read from them. */
function assertSame(actual: Outcome, expected: Outcome): void {
  const [kind, value] = Object.entries(actual)[0]!;
  assert.equal(kind, Object.keys(expected)[0]);
  assert.ok(Object.is(value, Object.values(expected)[0]), 'the very same value');
}

/** A process in which `API` is on, recorded or both of no interest. */
function bench(t: TestContext, state: 'on' | 'recorded', source?: Source) {
  const made = adoptionBench(t, source === undefined ? [] : [source]);
  const api = made.gate.category('API');
  const use = (name: string) => {
    if (state === 'on') made.turn(name, true);
    else t.after(made.record(name));
    return made.tap(name);
  };
  use('API');
  return { ...made, api, use };
}

type Bench = ReturnType<typeof bench>;

/** What the application calls, and what must come of it. */
const CALLS: Readonly<Record<string, (value: unknown, { api, gate: { work } }: Bench) => readonly [Outcome, Outcome]>> =
  {
    'span, throws': (threw, { api }) => [outcomeOf(() => api.span('s', () => rethrow(threw))), { threw }],
    'span, returns': (returned, { api }) => [outcomeOf(() => api.span('s', () => returned)), { returned }],
    'runWork, throws': (threw, { gate }) => [outcomeOf(() => gate.work.runNamed('w', () => rethrow(threw))), { threw }],
    'runWork, returns': (returned, { gate }) => [
      outcomeOf(() => gate.work.runNamed('w', () => returned)),
      { returned },
    ],
    'runWork, its name': (name, { gate }) => [
      outcomeOf(() => gate.work.runNamed(name as string, () => gate.work.fail(undefined))),
      { returned: undefined },
    ],
    ...Object.fromEntries(
      (
        [
          ['fail', (value, { api }) => api.fail(value)],
          ['debug, its message', (value, { api }) => api.debug(value as string)],
          ['debug, its attributes', (value, { api }) => api.debug('m', value as object as never)],
          ['debug, one attribute', (value, { api }) => api.debug('m', { value } as never)],
          ['debug, an error', (value, { api }) => api.debug('m', { err: value, more: 'x'.repeat(2000) } as never)],
          ['debug, a function', (value, { api }) => api.debug('m', () => value as never)],
          ['debug, a function that throws', (value, { api }) => api.debug('m', () => rethrow(value) as never)],
          ['setAttributes', (value, { gate }) => gate.work.set(value as never)],
          ['setAttributes, one', (value, { gate }) => gate.work.set({ value } as never)],
          ['runWithAttributes', (value, { gate }) => gate.work.run(value as never, () => undefined)],
          ['runWithTenant', (value, { gate, api }) => gate.runWithTenant(value as never, () => api.debug('m'))],
          ['uncaught', (value) => void (process as EventEmitter).emit('uncaughtExceptionMonitor', value)],
        ] satisfies readonly [string, (value: unknown, bench: Bench) => unknown][]
      ).map(([name, call]) => [
        name,
        (value: unknown, made: Bench) =>
          [
            outcomeOf(() =>
              made.gate.work.runNamed('w', () => {
                made.api.debug('before');
                call(value, made);
                made.gate.work.fail(value);
              }),
            ),
            { returned: undefined },
          ] as const,
      ]),
    ),
  };

function rethrow(value: unknown): never {
  throw value;
}

for (const state of ['on', 'recorded'] as const) {
  describe(`while a category is ${state}, the application sees its own value and nothing of ours`, () => {
    for (const [name, call] of Object.entries(CALLS)) {
      it(name, (t) => {
        const made = bench(t, state);
        const values = hostileValues();
        for (const [what, value] of values) {
          const [actual, expected] = call(value, made);
          assert.doesNotThrow(() => assertSame(actual, expected), `${what}: ${util.inspect(actual, { depth: 0 })}`);
        }
      });
    }

    it('a rejection', async (t) => {
      const { gate, api } = bench(t, state);
      for (const [what, value] of hostileValues()) {
        for (const run of [
          (fn: () => Promise<never>) => api.span('s', fn),
          (fn: () => Promise<never>) => gate.work.runNamed('w', fn),
        ]) {
          // In a field: a promise that is rejected with a thenable does not read it, one that resolves does.
          const threw = await run(() => Promise.reject(value)).then(
            () => assert.fail('resolved'),
            (error) => ({ threw: error }),
          );
          assert.doesNotThrow(() => assertSame(threw, { threw: value }), what);
        }
      }
    });
  });
}

it('lines of failed work come out, and a span ends, whatever was thrown', (t) => {
  const { api, gate, records } = bench(t, 'recorded');
  const traced = bench(t, 'on');
  for (const [what, value] of hostileValues()) {
    outcomeOf(() => gate.work.runNamed('w', () => [api.debug('before'), rethrow(value)]));
    assert.deepEqual([what, records.splice(0).length], [what, 1]);
    exporter.reset();
    outcomeOf(() => traced.api.span('s', () => rethrow(value)));
    const spans = exporter.getFinishedSpans().map(({ status, events }) => [status.code, events.length]);
    assert.deepEqual([what, spans], [what, [[2, 1]]]);
  }
});

it('HTTP requests that fail with such a value, or whose route cannot be read, end as any other', async (t) => {
  const { gate, api, records } = bench(t, 'recorded');
  const values = hostileValues();
  t.after(new WorkFollower(gate.work).outcomes.watch({ ended: () => {} }));
  const url = await serve(t, (request, response) => {
    const [, value] = values[Number(request.url!.slice(1))]!;
    api.debug('before');
    api.fail(value);
    for (const field of ['route', 'baseUrl']) withField(request, field, { get: throwing });
    channel('tracing:fastify.request.handler:start').publish(value ?? {});
    response.statusCode = 500;
    response.end('answer');
  });
  for (const number of values.keys()) assert.equal(await (await fetch(`${url}/${number}`)).text(), 'answer');
  await until('all lines have come out', () => records.length === values.length);
});

it('what is said of them for operators', () => {
  const host = new EventEmitter();
  const works = { watch: () => () => {} };
  for (const [what, value] of hostileValues()) {
    const trigger = openTrigger({ when: { uncaught: true }, for: 60 } as never, {
      works,
      host: host as NodeJS.Process,
      clock: { monotonic: () => 0 },
    });
    host.emit('uncaughtExceptionMonitor', value);
    assert.match(trigger!.exceeded()!, /^uncaught \w+$/, what);
    trigger!.close();
    assert.equal(isRdcpError(value), false);
    assert.match(failureCode(value), /^$/, what);
    assert.match(problemOf(value), /^RDCP_SERVER_ERROR: /, what);
    assert.equal(storeProblem(value), 'the store cannot be reached', what);
  }
});

describe('a logger that is adopted throws what it throws without us, and nothing else', () => {
  type Write = (value: never) => unknown;
  interface Library {
    readonly source: Source;
    readonly module?: string;
    make(exports: never): readonly Write[];
  }
  const LIBRARIES: Readonly<Record<string, Library>> = {
    debug: {
      source: DEBUG,
      module: 'debug',
      make: (create: typeof import('debug')) => {
        const log = create('lib');
        return [(value) => log(value), (value) => log('%o %s', value, value)];
      },
    },
    pino: {
      source: PINO,
      module: 'pino',
      make: (pino: typeof import('pino').default) => {
        const logger = pino({ name: 'lib' }, { write: () => undefined });
        return [
          (value) => logger.debug(value),
          (value) => logger.debug('m %s %o', value, value),
          (value) => logger.debug({ value }),
          (value) => logger.error(value),
          (value) => logger.error({ err: value }),
          (value) => logger.child({ module: value }),
        ];
      },
    },
    winston: {
      source: WINSTON,
      module: 'winston',
      make: (winston: typeof import('winston')) => {
        const stream = new Writable({ write: (_chunk, _encoding, done) => done() });
        const transports = [new winston.transports.Stream({ stream })];
        const logger = winston.createLogger({ defaultMeta: { service: 'lib' }, transports });
        const levels = ['debug', 'error'].flatMap((level): Write[] => [
          (value) => logger.log(level, 'm', value),
          (value) => logger.log(level, 'm %s', value),
          (value) => logger.log(level, value),
          (value) => logger.log({ level, message: value }),
          (value) => logger.write({ level: value, message: 'm', [Symbol.for('level')]: level } as never),
          (value) => logger.write({ level, message: 'm', [Symbol.for('level')]: value } as never),
        ]);
        return [...levels, (value) => logger.write(value), (value) => logger.child(value)];
      },
    },
    Nest: {
      source: NEST,
      module: '@nestjs/common',
      make: ({ Logger }: typeof import('@nestjs/common')) => {
        const quiet = () => undefined;
        Logger.overrideLogger({ log: quiet, warn: quiet, error: quiet, debug: quiet });
        const logger = new Logger('lib');
        return [
          (value) => logger.debug(value),
          (value) => logger.debug('m', value),
          (value) => logger.error(value, 'stack'),
          (value) => new Logger(value),
        ];
      },
    },
    debuglog: {
      source: DEBUGLOG,
      make: () => {
        const log = util.debuglog('lib');
        return [(value) => log(value), (value) => log('%s %o', value, value)];
      },
    },
  };
  for (const [library, { source, module, make }] of Object.entries(LIBRARIES)) {
    it(library, (t) => {
      // winston complains of levels that it does not know.
      t.mock.method(console, 'error', () => undefined);
      const bare = (module && loadCopy(module).exports) as never;
      for (const state of ['on', 'recorded'] as const) {
        const made = bench(t, state, source);
        const { exports, version } = module === undefined ? { exports: undefined, version: '' } : loadCopy(module);
        if (module !== undefined) made.load(module, version, exports);
        const writes = make(exports as never);
        made.use('LIB');
        for (const [number, write] of writes.entries()) {
          for (const [what, value] of hostileValues()) {
            made.gate.work.runNamed('w', () => {
              const outcome = outcomeOf(() => make(exports as never)[number]!(value as never));
              if ('returned' in outcome) return;
              const native = outcomeOf(() => make(bare)[number]!(value as never));
              const texts = [outcome, native].map((each) => 'threw' in each && describeThrown(each.threw));
              assert.equal(texts[0], texts[1], `${library} ${state}, ${write}: ${what}`);
            });
          }
        }
        made.leave();
      }
    });
  }

  it('diagnostics channels', (t) => {
    const made = bench(t, 'on', CHANNELS);
    for (const name of made.names()) made.turn(name, true);
    const { calls } = made.tap('UNDICI');
    for (const [, value] of hostileValues()) {
      const request = { origin: 'http://x', path: '/p', method: 'GET' };
      channel('undici:request:create').publish({ request });
      channel('undici:request:error').publish({ request, error: value });
      channel('undici:request:create').publish(value ?? {});
    }
    assert.equal(calls.length, 2 * hostileValues().length);
  });
});
