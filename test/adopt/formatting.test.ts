// In a process of its own: it patches loggers.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import util, { inspect } from 'node:util';
import { PINO } from '../../src/adopt/pino/pino.ts';
import { adoptionBench, type Level, loadCopy } from './bench.ts';
import { adopted, LOGGERS, type Log, type LoggerKind, type LoggerName, type Pino } from './loggers.ts';

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
  it(`${copy}: a value that throws while it is formatted stays out of the line, with one warning`, (t) => {
    const { exports: debug, turn, messages, warnings } = adopted(t, 'debug', { copy });
    const [log, own] = [debug('orders'), debug('own')];
    const written: string[] = [];
    own.log = (...args: unknown[]) => void written.push(util.format(...args));
    for (const name of ['ORDERS', 'OWN']) turn(name, true);
    for (const each of [log, own]) sayAll(each as Log);
    Object.assign(debug.formatters, {
      x: () => {
        throw new Error('formatter');
      },
    });
    log('before %x after', 1);
    const shown = messages();
    assert.equal(shown.length, LINES + 1);
    assert.ok(shown.every((message) => message !== ''));
    assert.ok(shown.includes('before [could not be formatted] after'), shown.join('\n'));
    assert.match(warnings[0]!, /^adopt: debug failed while the logger of \w+ was adopted or wrote a line/);
    own('well %s', 'formed');
    assert.match(written.at(-1)!, /well formed/);
    turn('OWN', false);
    assert.equal(own.enabled, false);
  });
}

it('debug: what DEBUG has on throws as it does without a remote control', async (t) => {
  const { methods } = await LOGGERS['debug 4.4.3'].adopt(t, { level: 'debug' });
  assert.throws(() => methods().debug?.('%O', THROWING[1]), /inspect\.custom/);
});

/** Those of winston throw by themselves: winston reads the stack of an argument before it asks for the level. */
const NAMES: readonly LoggerName[] = [
  ...(['debug 2.6.9', 'debug 3.2.7', 'debug 4.4.3', 'debug 4.4.3 with a log of the application'] as const),
  ...(['pino 8', 'pino 10', 'Nest 11', 'util.debuglog', 'a level in words, handed over'] as const),
];

const KINDS: Readonly<Record<string, Pick<LoggerKind, 'adopt'>>> = {
  ...Object.fromEntries(NAMES.map((name) => [name, LOGGERS[name]])),
  'Nest with a logger that throws': {
    adopt(t) {
      const { exports: common, ...bench } = adopted(t, '@nestjs/common');
      const throwing = {
        ...{ log() {}, warn() {}, error() {} },
        debug(value: unknown) {
          util.format(value);
          throw new Error('of the logger behind');
        },
      };
      common.Logger.overrideLogger(throwing);
      const logger = new common.Logger('Cats');
      const debug: Log = (first, ...rest) => logger.debug(first, ...rest);
      return { bench, category: 'CATS', methods: () => ({ debug }), written: () => [] };
    },
  },
};

it('a debug instance that was handed over', async (t) => {
  const { bench, category, methods } = await LOGGERS['an instance of debug 4.4.3, handed over'].adopt(t);
  bench.turn(category, true);
  for (const value of THROWING.slice(0, 2)) methods().debug?.('before %s after', value);
  assert.equal(bench.counted(category), 2);
});

for (const [name, { adopt }] of Object.entries(KINDS)) {
  it(`${name}: a value that throws while it is formatted never reaches the application, and the line counts`, async (t) => {
    const { bench, category, methods } = await adopt(t, { level: 'info' });
    bench.turn(category, true);
    const say = () => sayAll((...args) => methods().debug?.(...args));
    say();
    assert.equal(bench.counted(category), LINES);
    bench.tap(category);
    say();
    assert.equal(bench.counted(category), 2 * LINES);
  });
}

for (const [name, { adopt }] of Object.entries<LoggerKind>(LOGGERS)) {
  it(`${name}: a destination that throws does so in lines that the application has, and in no other`, async (t) => {
    const broken = async (level: Level) => {
      let works = true;
      const adopted = await adopt(t, {
        level,
        onWrite: () => {
          if (!works) throw new Error('disk full');
        },
      });
      works = false;
      return adopted;
    };
    const { bench, category, methods } = await broken('info');
    bench.turn(category, true);
    methods().debug?.('ours');
    // Our own outputs are not broken. Failures of a logger of pino or winston that was handed over are not reported.
    const isReported = bench.records.length === 0 && !/^(pino|winston), handed over$/.test(name);
    if (isReported) assert.match(bench.warnings.join(), /disk full/);
    const { methods: own } = await broken('info');
    if (own().info) assert.throws(() => own().info?.('theirs'), /disk full/);
  });
}

it('winston, also where the transports are behind and the line is formatted later', async (t) => {
  const { exports: winston, turn } = adopted(t, 'winston');
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
  turn('APP', true);
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
