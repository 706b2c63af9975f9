// In a process of its own: it patches loggers.

import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import util, { inspect } from 'node:util';
import { DEBUG } from '../../src/adopt/debug/debug.ts';
import { DEBUGLOG } from '../../src/adopt/debug/debuglog.ts';
import { NEST } from '../../src/adopt/nest/nest.ts';
import { PINO } from '../../src/adopt/pino/pino.ts';
import { WINSTON } from '../../src/adopt/winston/winston.ts';
import { adoptionBench, loadCopy } from './bench.ts';

type CreateDebug = typeof import('debug');
type Pino = typeof import('pino').default;
type Winston = typeof import('winston');
type Bench = ReturnType<typeof adoptionBench>;
type Log = (...args: unknown[]) => unknown;

/** Values whose own code throws while they are formatted. */
const THROWING: readonly object[] = [
  {
    toString() {
      throw new Error('toString');
    },
  },
  {
    [inspect.custom]() {
      throw new Error('inspect.custom');
    },
  },
  {
    toJSON() {
      throw new Error('toJSON');
    },
  },
  Object.defineProperty(new Error('stackless'), 'stack', {
    get() {
      throw new Error('stack');
    },
  }),
];

const FORMATS = ['%s', '%o', '%O', '%j', '%d', 'alone'];

function sayAll(write: (...args: unknown[]) => unknown): void {
  for (const value of THROWING) {
    for (const format of FORMATS) write(`before ${format} after`, value);
    write(value);
  }
}

const LINES = THROWING.length * (FORMATS.length + 1);

for (const copy of ['debug-2', 'debug-3', 'debug']) {
  it(`${copy}: a value that throws while it is formatted stays out of the line, and never reaches the application`, (t) => {
    const { exports: debug, version } = loadCopy<CreateDebug>(copy);
    const bench = adoptionBench(t, [DEBUG]);
    bench.load('debug', version, debug);
    const log = debug('orders');
    const own = debug('own');
    const written: string[] = [];
    own.log = (...args: unknown[]) => void written.push(util.format(...args));
    bench.turn('ORDERS', true);
    bench.turn('OWN', true);
    const { calls } = bench.tap('ORDERS');
    sayAll(log);
    sayAll(own);
    Object.assign(debug.formatters, {
      x: () => {
        throw new Error('formatter');
      },
    });
    log('before %x after', 1);
    assert.equal(bench.records.length, LINES + 1);
    assert.equal(calls.length, LINES + 1);
    const messages = bench.messages();
    assert.ok(messages.every((message) => message !== ''));
    assert.ok(messages.includes('before [could not be formatted] after'), messages.join('\n'));
    assert.match(bench.warnings[0]!, /^adopt: debug failed while the logger of \w+ was adopted or wrote a line/);
    own('well %s', 'formed');
    assert.match(written.at(-1)!, /well formed/);
    bench.turn('OWN', false);
    assert.equal(own.enabled, false);
  });
}

it('debug: what DEBUG has on throws as it does without a remote control', (t) => {
  const { exports: debug, version } = loadCopy<CreateDebug>('debug');
  const bench = adoptionBench(t, [DEBUG]);
  bench.load('debug', version, debug);
  const before = process.env.DEBUG;
  t.after(() => {
    if (before === undefined) delete process.env.DEBUG;
    else process.env.DEBUG = before;
  });
  debug.enable('orders');
  t.mock.method(process.stderr, 'write', () => true);
  const log = debug('orders');
  assert.throws(() => log('%O', THROWING[1]), /inspect\.custom/);
});

it('a debug instance that was handed over', (t) => {
  const { exports: debug } = loadCopy<CreateDebug>('debug');
  const bench = adoptionBench(t, [DEBUG]);
  const log = debug('alone');
  log.log = (...args: unknown[]) => void util.format(...args);
  t.after(bench.adopter.adopt(log, {}));
  bench.turn('ALONE', true);
  for (const value of THROWING.slice(0, 2)) log('before %s after', value);
  assert.equal(bench.counted('ALONE'), 2);
});

/** Loggers that are given all values, at their category, also while it is tailed. */
const LOGGERS: Readonly<Record<string, (t: TestContext) => { bench: Bench; category: string; log: Log }>> = {
  'util.debuglog': (t) => {
    const bench = adoptionBench(t, [DEBUGLOG]);
    return { bench, category: 'ORDERS', log: util.debuglog('orders') as Log };
  },
  pino: (t) => {
    const { exports: pino, version } = loadCopy<Pino>('pino');
    const bench = adoptionBench(t, [PINO]);
    bench.load('pino', version, pino);
    const logger = pino({ name: 'orders' }, { write: () => undefined });
    return { bench, category: 'ORDERS', log: logger.debug.bind(logger) as Log };
  },
  "Nest's": (t) => {
    const { exports: common, version } = loadCopy<typeof import('@nestjs/common')>('@nestjs/common');
    const bench = adoptionBench(t, [NEST]);
    bench.load('@nestjs/common', version, common);
    const throwing = {
      ...{ log() {}, warn() {}, error() {} },
      debug(value: unknown) {
        util.format(value);
        throw new Error('of the logger behind');
      },
    };
    common.Logger.overrideLogger(throwing);
    const logger = new common.Logger('Orders');
    return { bench, category: 'ORDERS', log: (first, ...rest) => logger.debug(first, ...rest) };
  },
  'another library, handed over': (t) => {
    const bench = adoptionBench(t, []);
    const logger = { name: 'orders', level: 'info', debug: (...given: unknown[]) => util.format('%s', ...given) };
    t.after(bench.adopter.adopt(logger, {}));
    return { bench, category: 'ORDERS', log: (...args) => logger.debug(...args) };
  },
};

for (const [name, setUp] of Object.entries(LOGGERS)) {
  it(`${name}: a value that throws while it is formatted never reaches the application`, (t) => {
    const { bench, category, log } = setUp(t);
    bench.turn(category, true);
    sayAll(log);
    assert.equal(bench.counted(category), LINES);
    bench.tap(category);
    sayAll(log);
    assert.equal(bench.counted(category), 2 * LINES);
  });
}

it('winston, also where the transports are behind and the line is formatted later', async (t) => {
  const { exports: winston, version } = loadCopy<Winston>('winston');
  const bench = adoptionBench(t, [WINSTON]);
  bench.load('winston', version, winston);
  const messages: unknown[] = [];
  const waiting: (() => void)[] = [];
  class Slow extends winston.transports.Console {
    override log(info: { readonly message: unknown }, next: () => void): void {
      messages.push(info.message);
      waiting.push(next);
    }
  }
  const throwing = winston.format((info) => {
    util.format('%s', info.message, info.value);
    return info;
  });
  const slow = new Slow({ highWaterMark: 1, format: throwing() } as object);
  const logger = winston.createLogger({ format: throwing(), transports: [slow] });
  bench.turn('APP', true);
  for (const message of ['one', 'two', 'three']) logger.debug(message);
  for (let at = 0; at < 100; at++) sayAll((value) => logger.debug('bad', { value }));
  logger.info('last');
  while (messages.at(-1) !== 'last') {
    waiting.shift()?.();
    await new Promise(setImmediate);
  }
  assert.deepEqual(
    messages.filter((message) => message !== 'bad'),
    ['one', 'two', 'three', 'last'],
  );
});

it('a line that a winston format or a pino hook leaves out is no line of a tail', (t) => {
  const bench = adoptionBench(t, [WINSTON, PINO]);
  const { exports: winston, version } = loadCopy<Winston>('winston');
  bench.load('winston', version, winston);
  const { exports: pino, version: pinoVersion } = loadCopy<Pino>('pino');
  bench.load('pino', pinoVersion, pino);
  const keep = winston.format((info) => (info.message === 'secret' ? false : info));
  const transport = new winston.transports.Stream({ stream: process.stdout, silent: false });
  t.mock.method(process.stdout, 'write', () => true);
  const fromWinston = winston.createLogger({ format: keep(), transports: [transport], defaultMeta: { label: 'kept' } });
  const fromPino = pino(
    {
      name: 'kept',
      hooks: {
        logMethod(args, method) {
          if (args[0] !== 'secret') method.apply(this, args);
        },
      },
    },
    { write: () => true },
  );
  const writes = [(line: string) => fromWinston.debug(line), (line: string) => fromPino.debug(line)];
  const { calls } = bench.tap('KEPT');
  for (const on of [false, true]) {
    bench.turn('KEPT', on);
    for (const message of ['secret', 'open']) for (const write of writes) write(message);
  }
  assert.deepEqual(
    calls.map(({ message }) => message),
    ['open', 'open', 'open', 'open'],
  );
  assert.deepEqual(bench.errors, []);
});

it('an adopted pino child lists the same properties as one that is not adopted', (t) => {
  for (const copy of ['pino-8', 'pino-9', 'pino']) {
    const { exports: pino, version } = loadCopy<Pino>(copy);
    const logger = () => pino({}, { write: () => true });
    const children = () => [logger().child({ name: 'orders' }), logger().child({ a: 1 }, { level: 'warn' })];
    const seen = () =>
      children().map((child) => [Object.keys(child), Object.getOwnPropertySymbols(Object.assign({}, child)).length]);
    const before = seen();
    const bench = adoptionBench(t, [PINO]);
    bench.load('pino', version, pino);
    assert.deepEqual(seen(), before, copy);
  }
});
