// In a process of its own: it patches loggers, and sets a global logger of diagnostics.

import assert from 'node:assert/strict';
import { channel } from 'node:diagnostics_channel';
import { describe, it } from 'node:test';
import util from 'node:util';
import 'reflect-metadata';
import type { LoggerService } from '@nestjs/common';
import { DiagLogLevel, diag } from '@opentelemetry/api';
import { InMemoryLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs';
import { CHANNELS } from '../../src/adopt/channels/channels.ts';
import { DEBUG } from '../../src/adopt/debug/debug.ts';
import { DEBUGLOG } from '../../src/adopt/debug/debuglog.ts';
import { NEST } from '../../src/adopt/nest/nest.ts';
import { OTEL_DIAG } from '../../src/adopt/otel/diag.ts';
import { gateLogs, loggerConfigurator } from '../../src/adopt/otel/logs.ts';
import { PINO } from '../../src/adopt/pino/pino.ts';
import type { Source } from '../../src/adopt/types.ts';
import { WINSTON } from '../../src/adopt/winston/winston.ts';
import { adoptionBench, loadCopy } from './bench.ts';

type Bench = ReturnType<typeof adoptionBench>;
type Write = (text: string) => unknown;

/** A logger of the application. Every line of it goes to `written`, and its own level holds back what the methods write. */
interface Row {
  readonly sources: readonly Source[];
  readonly setUp: (
    bench: Bench,
    written: string[],
  ) => { readonly methods: readonly Write[]; readonly category?: string };
}

type Copy = 'pino' | 'winston';
const load = <T>(bench: Bench, packageName: string, name = packageName.replace(/-[\d.]+$/, '')) => {
  const { exports, version } = loadCopy<T>(packageName);
  bench.load(name, version, exports);
  return exports;
};

const debug = (copy: string): Row => ({
  sources: [DEBUG],
  setUp: (bench) => {
    const log = load<(name: string) => Write>(bench, copy)('cats');
    log('made known');
    return { methods: [log] };
  },
});

const pinoBehind = (bench: Bench, written: string[], copy = 'pino', options: object = {}) =>
  load<typeof import('pino').default>(bench, copy)(options, {
    write: (line: string) => void written.push(JSON.parse(line).msg),
  });

const winstonBehind = (bench: Bench, written: string[], copy = 'winston', options: object = {}) => {
  const winston = load<typeof import('winston')>(bench, copy);
  const stream = new (process.getBuiltinModule('node:stream').Writable)({
    write: (chunk, _encoding, next) => {
      written.push(JSON.parse(String(chunk)).message);
      next();
    },
  });
  return winston.createLogger({ ...options, transports: [new winston.transports.Stream({ stream })] });
};

const methodsOf = (logger: object, ...names: readonly string[]) => ({
  methods: names.map(
    (name): Write =>
      (text) =>
        Reflect.get(logger, name).call(logger, text),
  ),
});

/** An object for `app.useLogger()`, as those of nestjs-pino and nest-winston: it passes Nest's lines on. */
const service = (to: { debug: Write; info: Write }): LoggerService => ({
  log: (text) => to.info(text),
  warn: (text) => to.info(text),
  error: (text) => to.info(text),
  debug: (text) => to.debug(text),
  verbose: (text) => to.debug(text),
});

const nest = (
  behind: (bench: Bench, written: string[], common: typeof import('@nestjs/common')) => LoggerService,
  own: readonly string[] = ['debug', 'verbose'],
  copy = '@nestjs/common',
): Row => ({
  sources: [NEST, PINO, WINSTON],
  setUp: (bench, written) => {
    const common = load<typeof import('@nestjs/common')>(bench, copy, '@nestjs/common');
    common.Logger.overrideLogger(behind(bench, written, common));
    return methodsOf(new common.Logger('Cats'), ...own);
  },
});

const handedOver = (
  made: (bench: Bench, written: string[]) => { logger: object; methods: readonly string[] },
): Row => ({
  sources: [DEBUG, PINO, WINSTON],
  setUp: (bench, written) => {
    const { logger, methods } = made(bench, written);
    bench.adopter.adopt(logger, { category: 'CATS' });
    return typeof logger === 'function' ? { methods: [logger as Write] } : methodsOf(logger, ...methods);
  },
});

let scopes = 0;

const otel = (options: object): Row => ({
  sources: [],
  setUp: ({ adopter }, written) => {
    const key = Symbol.for('opentelemetry-instrumentation-rdcp.adoption.v1');
    Object.defineProperty(globalThis, key, { value: adopter, configurable: true });
    const exporter = new InMemoryLogRecordExporter();
    exporter.export = (records, done) => {
      written.push(...records.map(({ body }) => String(body)));
      done({ code: 0 });
    };
    const processors = [gateLogs(new SimpleLogRecordProcessor({ exporter }))];
    scopes += 1;
    const logger = new LoggerProvider({ processors, ...options }).getLogger(`cats ${scopes}`);
    const write: Write = (body) => logger.emit({ body, severityNumber: 5 });
    write('made known');
    return { methods: [write], category: `OTEL_CATS_${scopes}` };
  },
});

const ROWS: Readonly<Record<string, Row>> = {
  'debug 2.6.9': debug('debug-2'),
  'debug 3.2.7': debug('debug-3'),
  'debug 4.4.3': debug('debug'),
  ...Object.fromEntries(
    ['pino-8', 'pino-9', 'pino-9.13', 'pino'].map((copy) => [
      copy,
      {
        sources: [PINO],
        setUp: (bench, written) =>
          methodsOf(pinoBehind(bench, written, copy, { name: 'cats', level: 'warn' }), 'trace', 'debug', 'info'),
      } satisfies Row,
    ]),
  ),
  ...Object.fromEntries(
    ['winston-3.0', 'winston'].map((copy) => [
      copy,
      {
        sources: [WINSTON],
        setUp: (bench, written) => ({
          ...methodsOf(winstonBehind(bench, written, copy, { level: 'warn' }), 'silly', 'debug', 'info'),
          category: 'APP',
        }),
      } satisfies Row,
    ]),
  ),
  ...Object.fromEntries(
    ['@nestjs/common', 'nestjs-common-10'].map((copy) => [
      `${copy} by itself`,
      nest(
        (_bench, written, { ConsoleLogger }) =>
          new (class extends ConsoleLogger {
            protected override printMessages(messages: unknown[]) {
              written.push(...messages.map(String));
            }
          })('', { logLevels: ['error'] }),
        ['verbose', 'debug', 'log'],
        copy,
      ),
    ]),
  ),
  'Nest with pino behind': nest((bench, written) => service(pinoBehind(bench, written))),
  'Nest with a terse pino behind': nest(
    (bench, written) => service(pinoBehind(bench, written, 'pino', { level: 'error' })),
    ['verbose', 'debug', 'log', 'warn'],
  ),
  'Nest with winston behind': nest((bench, written) => service(winstonBehind(bench, written))),
  'Nest with a terse winston behind': nest(
    (bench, written) => service(winstonBehind(bench, written, 'winston', { level: 'error' })),
    ['verbose', 'debug', 'log', 'warn'],
  ),
  "an adapter's logger without Nest's": {
    sources: [NEST, PINO],
    setUp: (bench, written) => {
      const pino = pinoBehind(bench, written);
      class PinoLogger {
        readonly context = 'Cats';
        debug(text: string) {
          pino.debug({ context: this.context }, text);
        }
        setContext() {}
      }
      bench.load('nestjs-pino', '4.1.0', { PinoLogger });
      const logger = new PinoLogger();
      logger.debug('made known');
      return methodsOf(logger, 'debug');
    },
  },
  'util.debuglog': {
    sources: [DEBUGLOG],
    setUp: () => ({ methods: [util.debuglog('cats')] }),
  },
  'OpenTelemetry scopes': otel({}),
  'OpenTelemetry scopes by a configurator': otel({ loggerConfigurator: loggerConfigurator() }),
  "OpenTelemetry's diagnostics": {
    sources: [OTEL_DIAG],
    setUp: () => {
      diag.setLogger({ error() {}, warn() {}, info() {}, debug() {}, verbose() {} }, DiagLogLevel.ERROR);
      return { ...methodsOf(diag.createComponentLogger({ namespace: 'cats' }), 'debug'), category: 'OTEL_DIAG' };
    },
  },
  'diagnostics channels': {
    sources: [CHANNELS],
    setUp: () => {
      const created = channel('undici:request:create');
      return { methods: [(path) => created.publish({ request: { path } })], category: 'UNDICI' };
    },
  },
  'a level, handed over': handedOver((_bench, written) => {
    const logger = { level: 'warn', debug: say('debug'), info: say('info') };
    const levels = ['debug', 'info', 'warn'];
    function say(method: string) {
      return (text: string) => void (levels.indexOf(method) >= levels.indexOf(logger.level) && written.push(text));
    }
    return { logger, methods: ['debug', 'info'] };
  }),
  'an instance of debug, handed over': handedOver((_bench, written) => {
    const logger = loadCopy<(name: string) => Write & { log: Write }>('debug').exports('cats');
    logger.log = (text) => written.push(text);
    return { logger, methods: [] };
  }),
  ...Object.fromEntries(
    Object.entries({ pino: pinoBehind, winston: winstonBehind }).map(([copy, made]) => [
      `${copy}, handed over`,
      handedOver((bench, written) => ({ logger: made(bench, written, copy as Copy), methods: ['debug'] })),
    ]),
  ),
};

/** How often each method is called in a state. */
const TIMES = 3;

interface Outcome {
  readonly shown: boolean;
  readonly counted: boolean;
  readonly written: boolean;
  /** Whether other users' lines are written as well. @default false */
  readonly others?: boolean;
}

interface State extends Outcome {
  /** What an operator does with the category. Returns how much is shown, and what ends it. */
  begin(bench: Bench, category: string): { shown?(): number; end?(): void };
}

const NOTHING: Outcome = { shown: false, counted: false, written: false };

const STATES: Readonly<Record<string, State>> = {
  off: { ...NOTHING, begin: () => ({}) },
  tailed: {
    ...{ shown: true, counted: false, written: false },
    begin: (bench, category) => {
      const { calls, stop } = bench.tap(category);
      return { shown: () => calls.length, end: stop };
    },
  },
  forecast: {
    ...{ shown: true, counted: false, written: false },
    begin: (bench, category) => {
      const { calls, stop } = bench.measure(category);
      return { shown: calls, end: stop };
    },
  },
  // Whether the work fails is known later, so that its calls are not counted.
  'recorded, and the work failed': {
    ...{ shown: false, counted: false, written: true },
    begin: (bench, category) => ({ end: bench.record(category) }),
  },
  'on for one user': {
    ...{ shown: false, counted: true, written: true },
    begin: (bench, category) => ({ end: bench.turnForUser('42', category) }),
  },
  'on for one tenant': {
    ...{ shown: false, counted: true, written: true },
    begin: (bench, category) => {
      bench.turnFor('acme', category, true);
      return { end: () => bench.turnFor('acme', category, undefined) };
    },
  },
  on: {
    ...{ shown: false, counted: true, written: true, others: true },
    begin: (bench, category) => {
      bench.turn(category, true);
      return { end: () => bench.turn(category, false) };
    },
  },
  'off by an operator': { ...NOTHING, begin: () => ({}) },
};

describe('what is shown, counted and written of a category is what the application called', () => {
  for (const [name, { sources, setUp }] of Object.entries(ROWS)) {
    it(name, (t) => {
      const bench = adoptionBench(t, sources);
      const written: string[] = [];
      t.mock.method(process.stderr, 'write', (text: string) => written.push(text) > 0);
      const { methods, category = 'CATS' } = setUp(bench, written);
      const call = (user: string) =>
        bench.gate.runWithTenant(user === '42' ? 'acme' : 'globex', () =>
          bench.gate.work.runNamed('job', () => {
            bench.gate.work.set({ 'user.id': user });
            for (const write of methods) for (let time = 0; time < TIMES; time++) write(`/of/${user}`);
            if (user === '42') bench.gate.work.fail(undefined);
            return [...written.splice(0), ...bench.messages()].length;
          }),
        );
      written.splice(0);
      const calls = methods.length * TIMES;
      const outcomes = Object.entries(STATES).map(([state, { begin }]) => {
        const before = bench.counted(category);
        const { shown = () => 0, end } = begin(bench, category);
        const own = call('42');
        const outcome = {
          shown: shown(),
          counted: bench.counted(category) - before,
          written: own + bench.messages().length,
          others: call('43'),
        };
        end?.();
        assert.equal(call('43'), 0, `${state} has ended`);
        return [state, outcome];
      });
      const expected = Object.entries(STATES).map(([state, { shown, counted, written, others = false }]) => [
        state,
        {
          ...{ shown: shown ? calls : 0, counted: counted ? calls : 0 },
          ...{ written: written ? calls : 0, others: others ? calls : 0 },
        },
      ]);
      assert.deepEqual(Object.fromEntries(outcomes), Object.fromEntries(expected));
      const others = bench.names().filter((each) => each !== category);
      assert.deepEqual([...new Set(others.map(bench.counted))].filter(Boolean), [], 'a line is of one category');
    });

    it(`${name}: lines over the budget of a category that was switched on are dropped and counted`, (t) => {
      const bench = adoptionBench(t, sources, { callsPerSecond: 3 });
      const written: string[] = [];
      t.mock.method(process.stderr, 'write', (text: string) => written.push(text) > 0);
      const { methods, category = 'CATS' } = setUp(bench, written);
      written.splice(0);
      const before = bench.counted(category);
      bench.turn(category, true);
      for (const write of methods) for (let times = 0; times < 10; times++) write('/flood');
      assert.equal(bench.counted(category) - before, methods.length * 10);
      assert.ok(bench.dropped(category) > 0);
      assert.equal(written.length + bench.messages().length, methods.length * 10 - bench.dropped(category));
      bench.turn(category, false);
    });

    it(`${name}: recorded, each line is kept once, and none is written`, async (t) => {
      const bench = adoptionBench(t, sources);
      const written: string[] = [];
      t.mock.method(process.stderr, 'write', (text: string) => written.push(text) > 0);
      const { methods } = setUp(bench, written);
      written.splice(0);
      bench.recordAll(true);
      bench.gate.work.runNamed('job', () => {
        for (const [at, write] of methods.entries()) write(`/of/${at}`);
      });
      for (const write of methods) write('/outside of work');
      assert.deepEqual([...written, ...bench.messages()], []);
      const kept = (await bench.past()).map(
        ({ message, attributes }) => /\/of\/\d/.exec(message + Object.values(attributes))?.[0],
      );
      assert.deepEqual(
        kept,
        Object.keys(methods).map((at) => `/of/${at}`),
      );
      assert.deepEqual(bench.errors, []);
      bench.recordAll(false);
    });
  }
});

/** A logger, a guard of it, and the call that stands behind. */
interface Guarded {
  readonly sources: readonly Source[];
  /** Whether the call is recorded without its guard. */
  readonly recordsAlone: boolean;
  readonly setUp: (bench: Bench) => { readonly isOpen: () => unknown; readonly call: () => unknown };
}

const guardedDebug = (copy: string): Guarded => ({
  sources: [DEBUG],
  recordsAlone: false,
  setUp: (bench) => {
    const log = load<(name: string) => Write & { enabled: boolean }>(bench, copy)('cats');
    return { isOpen: () => Boolean(log.enabled), call: () => log('line') };
  },
});

const GUARDED: Readonly<Record<string, Guarded>> = {
  'debug 2.6.9': guardedDebug('debug-2'),
  'debug 3.2.7': guardedDebug('debug-3'),
  'debug 4.4.3': guardedDebug('debug'),
  'util.debuglog': {
    sources: [DEBUGLOG],
    recordsAlone: false,
    setUp: () => {
      const log = util.debuglog('cats');
      return { isOpen: () => log.enabled, call: () => log('line') };
    },
  },
  pino: {
    sources: [PINO],
    recordsAlone: true,
    setUp: (bench) => {
      const logger = pinoBehind(bench, [], 'pino', { name: 'cats' });
      return { isOpen: () => logger.isLevelEnabled('debug'), call: () => logger.debug('line') };
    },
  },
  winston: {
    sources: [WINSTON],
    recordsAlone: true,
    setUp: (bench) => {
      const logger = winstonBehind(bench, [], 'winston', { defaultMeta: { service: 'cats' } });
      return { isOpen: () => logger.isDebugEnabled(), call: () => logger.debug('line') };
    },
  },
  Nest: {
    sources: [NEST],
    recordsAlone: true,
    setUp: (bench) => {
      const { ConsoleLogger } = load<typeof import('@nestjs/common')>(bench, '@nestjs/common');
      const logger = new ConsoleLogger('Cats', { logLevels: ['log'] });
      return { isOpen: () => logger.isLevelEnabled('debug'), call: () => logger.debug('line') };
    },
  },
  'a level, handed over': {
    sources: [],
    recordsAlone: false,
    setUp: ({ adopter }) => {
      const logger = { name: 'cats', level: 'info', debug: () => undefined };
      adopter.adopt(logger, {});
      return { isOpen: () => logger.level === 'debug', call: () => logger.level === 'debug' && logger.debug() };
    },
  },
};

describe('with recorder.guards false a category that is only recorded opens no guard of a logger', () => {
  for (const [name, { sources, recordsAlone, setUp }] of Object.entries(GUARDED)) {
    it(name, async (t) => {
      const bench = adoptionBench(t, sources, { recorder: { guards: false } });
      t.mock.method(process.stdout, 'write', () => true);
      const { isOpen, call } = setUp(bench);
      const inWork = () =>
        bench.gate.work.runNamed('job', () => {
          call();
          return isOpen();
        });
      assert.equal(inWork(), false, 'off');
      bench.recordAll(true);
      assert.equal(inWork(), false, 'recorded');
      assert.equal((await bench.past()).length, recordsAlone ? 1 : 0);
      const { stop } = bench.tap('CATS');
      assert.equal(inWork(), true, 'tailed as well');
      stop();
      assert.equal(inWork(), false, 'recorded again');
      bench.turn('CATS', true);
      assert.equal(inWork(), true, 'on');
      bench.turn('CATS', false);
      bench.recordAll(false);
      assert.equal(inWork(), false, 'off again');
    });
  }
});
