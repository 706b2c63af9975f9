// In a process of its own: it patches loggers.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { describe, it, type TestContext } from 'node:test';
import util from 'node:util';
import { createRdcp } from '../../src/assembly/rdcp.ts';
import type { AdoptionBench } from './bench.ts';
import { adopted, LOGGERS, type LoggerName } from './loggers.ts';
import { setUp as setUpPino } from './pino-cases.ts';
import { setUp as setUpWinston } from './winston-cases.ts';

type Log = (value: object) => unknown;

/** A logger whose own level holds the line back, and what a line of it says. */
interface Case {
  readonly bench: Pick<AdoptionBench, 'gate' | 'recordAll' | 'past' | 'tap' | 'errors' | 'sink'>;
  readonly category: string;
  readonly log: Log;
  readonly says: RegExp;
  /** How often code of the application, or of the library, has formatted the value. */
  readonly formatted?: () => number;
}

const debug =
  (copy: string, own = false) =>
  (t: TestContext): Case => {
    const { exports: createDebug, ...bench } = adopted(t, 'debug', { copy });
    const inspect = t.mock.method(createDebug.formatters, 'O');
    const log = createDebug('orders');
    if (own) log.log = () => assert.fail('wrote a line');
    return {
      ...{ bench, category: 'ORDERS', says: /^100% of .*id: 7, .*'a'.* in 5 ms$/ },
      log: (value) => log('100%% of %O in %d ms', value, 5),
      formatted: () => inspect.mock.callCount(),
    };
  };

const pino =
  (copy: string) =>
  (t: TestContext): Case => {
    let serialized = 0;
    const { pino: create, out, ...bench } = setUpPino(t, copy);
    const order = (value: unknown) => {
      serialized += 1;
      return value;
    };
    const logger = create({ name: 'orders', serializers: { order } }, out);
    return {
      ...{ bench, category: 'ORDERS', says: /^\{"id":7,.*"a".*\}, placed \{"id":7,/ },
      log: (value) => logger.debug({ order: value }, 'placed %o', value),
      formatted: () => serialized,
    };
  };

const kind =
  (name: LoggerName, argsOf: (value: object) => readonly unknown[], says: RegExp) =>
  async (t: TestContext): Promise<Case> => {
    const { bench, category, methods, written } = await LOGGERS[name].adopt(t, { level: 'info' });
    t.after(() => assert.deepEqual(written(), []));
    return { bench, category, says, log: (value) => methods().debug?.(...argsOf(value)) };
  };

const OBJECT = /^\{"id":7,.*"a".*\}, placed$/;
const FORMATTED = /placed \{ id: 7, .*'a'.*\}$/;

const CASES: Readonly<Record<string, (t: TestContext) => Case | Promise<Case>>> = {
  'debug 2.6.9': debug('debug-2'),
  'debug 3.2.7': debug('debug-3'),
  'debug 4.4.3': debug('debug'),
  'debug 4.4.3 with a log of the application': debug('debug', true),
  'pino 8': pino('pino-8'),
  'pino 10': pino('pino'),
  winston: kind('winston 3', (order) => ['placed', { order }], OBJECT),
  Nest: kind('ConsoleLogger of Nest 11', (order) => ['placed', { order }, 'Cats'], OBJECT),
  'util.debuglog': kind('util.debuglog', (order) => ['placed %O', order], FORMATTED),
  'a level, handed over': kind('a level in words, handed over', (order) => ['placed %O', order], FORMATTED),
};

describe('a recorded line says what its logger was called with', () => {
  for (const [name, setUp] of Object.entries(CASES)) {
    it(name, async (t) => {
      const { bench, category, log, says, formatted } = await setUp(t);
      const make = () => ({ id: 7, items: [{ sku: 'a' }], password: 'hunter2' });
      const tap = bench.tap(category);
      log(make());
      tap.stop();
      const before = formatted?.();
      const order = make();
      bench.recordAll(true);
      bench.gate.work.runNamed('job', () => {
        log(order);
        Object.assign(order, { id: 8, more: 1 });
        Object.assign(order.items[0]!, { sku: 'b' });
        order.items.push({ sku: 'c' });
        assert.equal(formatted?.(), before, 'it is formatted when it leaves');
        const [line] = bench.sink.recorder.currentLines();
        assert.match(textOf(line), says);
      });
      const [line] = await bench.past();
      const { 'rdcp.work.id': _work, ...attributes } = line!.attributes;
      assert.doesNotMatch(util.inspect(line, { depth: 9 }), /hunter2/);
      // It is the line that a tail shows.
      const [{ message, attributes: tapped }] = tap.calls as [(typeof tap.calls)[number]];
      const { 'rdcp.category.name': _category, ...shown } = tapped;
      assert.deepEqual({ message: line!.message, attributes }, { message, attributes: shown });
      assert.deepEqual(bench.errors, []);
      bench.recordAll(false);
    });
  }
});

/** Attributes that hold the order, and the message. */
function textOf(line: { readonly message: string; readonly attributes: object } | undefined): string {
  const { order } = line!.attributes as { readonly order?: object };
  return [...(order === undefined ? [] : [JSON.stringify(order)]), line!.message].join(', ').replaceAll(/\s+/g, ' ');
}

/** What functions of the application add to a line, and the bindings of its logger. */
let moment = 'then';
const field = () => ({ moment });

const OF_THE_MOMENT: Readonly<
  Record<string, (t: TestContext) => Pick<Case, 'bench'> & { readonly logs: readonly (() => unknown)[] }>
> = {
  debug: (t) => {
    const { exports: createDebug, ...bench } = adopted(t, 'debug');
    createDebug.formatters.m = () => moment;
    const log = createDebug('orders');
    return { bench, logs: [() => log('placed %m', 1)] };
  },
  pino: (t) => {
    const { pino: create, out, ...bench } = setUpPino(t, 'pino');
    const logMethod = function (this: unknown, [text]: readonly string[], method: () => void) {
      Reflect.apply(method, this, [`${text} ${moment}`]);
    };
    const loggers = [
      { mixin: field },
      { formatters: { log: field } },
      { timestamp: () => `,"moment":"${moment}"` },
      { hooks: { logMethod } },
    ].map((options) => create({ name: 'orders', ...(options as object) }, out));
    const bound = create({ name: 'orders' }, out);
    bound.setBindings({ moment });
    const rebound = () => {
      bound.debug('placed');
      bound.setBindings({ moment: 'later' });
    };
    return {
      bench,
      logs: [...loggers.map((each) => () => each.debug('placed')), rebound],
    };
  },
  winston: (t) => {
    const { winston, memory, ...bench } = setUpWinston(t, 'winston');
    const format = winston.format((info) => ({ ...info, message: `${info.message} ${moment}` }))();
    const loggers = [{ format, transports: [memory()] }, { transports: [memory({ format })] }].map((options) =>
      winston.createLogger({ ...options, defaultMeta: { service: 'orders' } }),
    );
    return { bench, logs: loggers.map((each) => () => each.debug('placed')) };
  },
};

describe('what a function of the application adds to a recorded line is of the moment of the call', () => {
  for (const [name, setUp] of Object.entries(OF_THE_MOMENT)) {
    it(name, async (t) => {
      moment = 'then';
      const { bench, logs } = setUp(t);
      bench.recordAll(true);
      bench.gate.work.runNamed('job', () => {
        for (const log of logs) log();
        moment = 'later';
      });
      const lines = await bench.past();
      assert.equal(lines.length, logs.length);
      for (const line of lines) assert.match(util.inspect(line), /then/);
      bench.recordAll(false);
    });
  }
});

it('recorder.guards of the service decides whether a namespace of debug that is only recorded is on', async () => {
  for (const guards of [true, false]) {
    const recorder = { categories: ['*'], guards };
    const options = { server: false, announce: false, adopt: { debug: true }, security: { apiKeys: [] } } as const;
    const rdcp = createRdcp({ ...options, recorder });
    const log = createRequire(import.meta.url)('debug')(`guarded-${guards}`);
    assert.equal(Boolean(log.enabled), guards);
    await rdcp.close();
    assert.equal(Boolean(log.enabled), false);
  }
});
