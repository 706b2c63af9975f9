// In a process of its own: it patches loggers.

import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import type { Debugger } from 'debug';
import type { Logger as PinoLogger } from 'pino';
import { DEBUG } from '../../src/adopt/debug/debug.ts';
import { NEST } from '../../src/adopt/nest/nest.ts';
import { PINO } from '../../src/adopt/pino/pino.ts';
import { WINSTON } from '../../src/adopt/winston/winston.ts';
import { CATEGORY_NAME } from '../../src/gate/categories.ts';
import { adoptionBench, loadCopy, propertiesOf } from './bench.ts';

type Pino = typeof import('pino').default;
type Winston = typeof import('winston');
type CreateDebug = typeof import('debug');

/** Names that no person would give. */
const ODD_NAMES = [
  'x'.repeat(300),
  '\u001B[31mred\u001B[0m\n',
  '\uD800lone',
  '__proto__',
  'constructor',
  ' ',
  '\u202Eevil',
  '🐈',
  'a\u0000b',
];

function setUp<T>(t: TestContext, name: 'debug' | 'pino' | 'winston') {
  const { exports, version } = loadCopy<T>(name);
  const bench = adoptionBench(t, [{ debug: DEBUG, pino: PINO, winston: WINSTON }[name]]);
  bench.load(name, version, exports);
  const lines: Record<string, unknown>[] = [];
  const out = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const messages = () => lines.splice(0).map(({ msg, message }) => msg ?? message);
  return { ...bench, exports, lines, out, written: messages, version };
}

describe('pino', () => {
  it('a frozen logger is switched, and writes as ever afterwards', (t) => {
    const { exports: pino, out, written, turn, names, warnings, leave } = setUp<Pino>(t, 'pino');
    // pino itself makes no child of a frozen logger.
    const root = pino({}, out);
    const loggers = [Object.freeze(pino({ name: 'frozen' }, out)), Object.freeze(root.child({ module: 'part' }))];
    assert.deepEqual(names(), ['APP', 'FROZEN', 'PART']);
    for (const name of names()) turn(name, true);
    for (const logger of loggers) logger.debug('d');
    assert.deepEqual(written(), ['d', 'd']);
    leave();
    for (const logger of loggers) {
      logger.debug('never');
      logger.info('i');
    }
    assert.deepEqual([written(), warnings], [['i', 'i'], []]);
  });

  it('names that no person would give', (t) => {
    const { exports: pino, out, written, turn, names, warnings } = setUp<Pino>(t, 'pino');
    const loggers = ODD_NAMES.map((name) => pino({ name }, out));
    assert.equal(new Set(names()).size, ODD_NAMES.length);
    for (const name of names()) {
      assert.match(name, CATEGORY_NAME);
      turn(name, true);
    }
    for (const logger of loggers) logger.debug('d');
    assert.deepEqual([written().length, warnings], [ODD_NAMES.length, []]);
  });

  it('bindings, mixins and functions for names that throw', (t) => {
    const { exports: pino, out, written, turn, names } = setUp<Pino>(t, 'pino');
    const root = pino(
      {
        name: 'odd',
        mixin: () => ({
          get bad() {
            throw new Error('its own');
          },
        }),
      },
      out,
    );
    turn('ODD', true);
    assert.doesNotThrow(() => root.debug('d'));
    const bindings = {
      get module(): string {
        throw new Error('its own');
      },
    };
    assert.throws(() => root.child(bindings), /its own/);
    assert.deepEqual([written(), names()], [[], ['ODD']]);
  });

  it('streams of a multistream with a level of trace get what is let through, others what they took', (t) => {
    const { exports: pino, written, out, turn } = setUp<Pino>(t, 'pino');
    const errors: unknown[] = [];
    const streams = [
      { level: 'trace' as const, stream: out },
      { level: 'error' as const, stream: { write: (line: string) => void errors.push(line) } },
    ];
    const logger = pino({ name: 'multi' }, pino.multistream(streams));
    turn('MULTI', true);
    logger.debug('d');
    logger.error('e');
    assert.deepEqual([written(), errors.length], [['d', 'e'], 1]);
  });

  it('objects, errors and numbers as messages reach taps as pino writes them', (t) => {
    const { exports: pino, out, lines, turn, tap, counted, warnings } = setUp<Pino>(t, 'pino');
    const logger = pino({ name: 'odd' }, out);
    turn('ODD', true);
    const { calls } = tap('ODD');
    logger.debug({ order: 42 });
    logger.debug({ order: 42 }, 'text');
    logger.debug(7 as never);
    logger.debug(new Error('no'));
    assert.equal(lines.length, 4);
    assert.deepEqual(
      calls.map(({ message }) => message),
      lines.map(({ msg }) => (typeof msg === 'string' ? msg : '')),
    );
    assert.deepEqual([counted('ODD'), warnings], [4, []]);
  });

  it('the end of the adoption while loggers with and without a level of their own are kept', (t) => {
    const { exports: pino, out, written, turn, reset, leave, rejoin } = setUp<Pino>(t, 'pino');
    const root = pino({ name: 'root' }, out);
    const children = [root.child({}), root.child({ module: 'part' }), root.child({}, { level: 'debug' })];
    const kept = children.map((each) => each.debug.bind(each));
    for (const name of ['ROOT', 'PART']) turn(name, true);
    for (const debug of kept) debug('d');
    assert.deepEqual(written(), ['d', 'd', 'd']);
    leave();
    for (const debug of kept) debug('d');
    assert.deepEqual(written(), ['d'], "the application's own level");
    assert.equal(children[0]!.isLevelEnabled('debug'), false);
    root.setBindings({ module: 'later' });
    root.child({ module: 'later' }).info('i');
    assert.deepEqual(written(), ['i']);
    rejoin();
    reset('ROOT');
    children[0]!.debug('never');
    root.level = 'silent';
    children[0]!.level = 'silent';
    turn('ROOT', true);
    children[0]!.debug('never');
    assert.equal(children[0]!.isLevelEnabled('debug'), false);
    assert.deepEqual(written(), []);
  });

  it('the end of the adoption in the middle of a line', (t) => {
    const { exports: pino, turn, leave, warnings } = setUp<Pino>(t, 'pino');
    const lines: string[] = [];
    const before: PinoLogger[] = [];
    const stream = {
      write: (line: string) => {
        lines.push(JSON.parse(line).msg);
        if (lines.length === 1) {
          leave();
          before[0]?.debug('after');
          before[0]?.info('i');
        }
      },
    };
    const logger = pino({ name: 'middle' }, stream);
    before.push(logger);
    turn('MIDDLE', true);
    logger.debug('d');
    assert.deepEqual([lines, warnings], [['d', 'i'], []]);
  });
});

describe('winston', () => {
  it('a format that throws or drops the line does so as ever', (t) => {
    const { exports: winston, turn, warnings, version: _version } = setUp<Winston>(t, 'winston');
    const lines: string[] = [];
    const stream = new Writable({
      write(chunk, _encoding, done) {
        lines.push(JSON.parse(String(chunk)).message);
        done();
      },
    });
    const choosy = winston.format((info) => {
      if (info.message === 'drop') return false;
      if (info.message === 'throw') throw new Error('its own');
      return info;
    });
    const logger = winston.createLogger({
      defaultMeta: { service: 'choosy' },
      format: winston.format.combine(choosy(), winston.format.json()),
      transports: [new winston.transports.Stream({ stream })],
    });
    turn('CHOOSY', true);
    logger.debug('drop');
    logger.debug('d');
    assert.throws(() => logger.info('throw'), /its own/);
    assert.doesNotThrow(() => logger.debug('throw'));
    logger.debug('after');
    logger.info('i');
    assert.deepEqual(lines, ['d', 'after', 'i'], String(warnings));
  });

  it('the end of the adoption in the middle of a line, and its properties afterwards', async (t) => {
    const { exports: winston, turn, leave, warnings } = setUp<Winston>(t, 'winston');
    const lines: string[] = [];
    const transport = new winston.transports.Stream({
      stream: new Writable({
        write(chunk, _encoding, done) {
          lines.push(JSON.parse(String(chunk)).message);
          if (lines.length === 1) {
            leave();
            logger.debug('after');
            logger.info('i');
          }
          setImmediate(done);
        },
      }),
    });
    const before = propertiesOf(transport)[0]!.map(([key]) => key);
    const logger = winston.createLogger({ defaultMeta: { service: 'middle' }, transports: [transport] });
    turn('MIDDLE', true);
    logger.debug('d');
    logger.debug('dropped');
    // The callbacks of nested writes take several turns.
    while (lines.length < 2) await new Promise(setImmediate);
    await new Promise(setImmediate);
    assert.deepEqual([lines, warnings], [['d', 'i'], []]);
    const added = propertiesOf(transport)[0]!
      .map(([key]) => key)
      .filter((key) => !before.includes(key));
    assert.deepEqual(added.sort(), ['__winstonerror', '__winstonwarn', 'levels', 'parent'], "winston's own");
  });
});

describe('winston, of other kinds', () => {
  const kept = (lines: unknown[]) =>
    new Writable({
      write(chunk, _encoding, done) {
        lines.push(JSON.parse(String(chunk)).message);
        done();
      },
    });

  it('messages that are no text, and lines that are no objects', (t) => {
    const { exports: winston, turn, counted, tap, warnings } = setUp<Winston>(t, 'winston');
    const lines: unknown[] = [];
    const logger = winston.createLogger({
      defaultMeta: { service: 'odd' },
      transports: [new winston.transports.Stream({ stream: kept(lines) })],
    });
    turn('ODD', true);
    const { calls } = tap('ODD');
    logger.debug(7 as never);
    logger.debug({ message: { order: 42 } } as never);
    logger.log({ level: 'debug', message: 'text' });
    for (const info of ['text', 7] as const) {
      let own: unknown;
      try {
        logger.write(info as never);
      } catch (error) {
        own = error;
      }
      assert.ok(own === undefined || own instanceof Error, 'as winston answers by itself');
    }
    assert.deepEqual(lines.slice(0, 3).map(String), ['7', '[object Object]', 'text']);
    assert.equal(counted('ODD'), 3);
    assert.deepEqual([calls.length, calls.at(-1)?.message], [3, 'text']);
    assert.deepEqual(warnings, []);
  });

  it('the end of the adoption while a logger, a child with a name and a container are kept', (t) => {
    const { exports: winston, turn, leave, rejoin, counted } = setUp<Winston>(t, 'winston');
    const lines: unknown[] = [];
    const container = new winston.Container();
    const transports = () => [new winston.transports.Stream({ stream: kept(lines) })];
    const logger = container.add('shop', { transports: transports() });
    const child = logger.child({ service: 'cart' });
    const unnamed = container.add('', { transports: transports() });
    for (const name of ['SHOP', 'CART', 'APP']) turn(name, true);
    const speak = () => {
      for (const [at, each] of [logger, child, unnamed].entries()) each.debug(`d${at}`);
    };
    speak();
    assert.deepEqual(lines.splice(0), ['d0', 'd1', 'd2']);
    leave();
    speak();
    child.info('i');
    assert.deepEqual(lines.splice(0), ['i']);
    assert.equal(logger.isLevelEnabled('debug'), false);
    rejoin();
    assert.equal(counted('SHOP'), 1);
  });
});

type Nest = typeof import('@nestjs/common');

describe('Nest', () => {
  function nest(t: TestContext) {
    const { exports, version } = loadCopy<Nest>('@nestjs/common');
    const bench = adoptionBench(t, [NEST]);
    bench.load('@nestjs/common', version, exports);
    const lines: unknown[][] = [];
    const own = {
      log: (...args: unknown[]) => void lines.push(['log', ...args]),
      error: () => undefined,
      warn: () => undefined,
      debug: (...args: unknown[]) => void lines.push(['debug', ...args]),
      verbose: (...args: unknown[]) => void lines.push(['verbose', ...args]),
    };
    return { ...bench, Logger: exports.Logger, ConsoleLogger: exports.ConsoleLogger, lines, own };
  }

  it('objects and other values as messages reach the logger and the taps as they are', (t) => {
    const { Logger, lines, own, turn, tap, counted, warnings } = nest(t);
    Logger.overrideLogger(own);
    const cats = new Logger('Cats');
    turn('CATS', true);
    const { calls } = tap('CATS');
    cats.debug({ order: 42 });
    cats.debug('text', { more: 1 }, 7, 'Other');
    cats.verbose(7);
    cats.debug(null);
    assert.deepEqual(lines, [
      ['debug', { order: 42 }, 'Cats'],
      ['debug', 'text', { more: 1 }, 7, 'Other', 'Cats'],
      ['verbose', 7, 'Cats'],
      ['debug', null, 'Cats'],
    ]);
    assert.deepEqual(
      calls.map(({ message, attributes: { 'rdcp.category.name': _, ...attributes } }) => [message, attributes]),
      [
        ['', { order: 42 }],
        ['text', { more: 1 }],
        ['', {}],
        ['', {}],
      ],
    );
    assert.deepEqual([counted('CATS'), warnings], [4, []]);
  });

  it('a logger behind it without levels decides by itself until the category is switched', (t) => {
    const { Logger, lines, own, turn, reset, counted } = nest(t);
    Logger.overrideLogger(own);
    const cats = new Logger('Cats');
    cats.debug('undecided');
    assert.equal(lines.length, 1);
    turn('CATS', false);
    cats.debug('off');
    assert.equal(lines.length, 1);
    reset('CATS');
    cats.debug('again');
    assert.deepEqual([lines.length, counted('CATS')], [2, 0]);
    Logger.overrideLogger(false);
    turn('CATS', true);
    assert.doesNotThrow(() => cats.debug('to nobody'));
    assert.equal(lines.length, 2);
  });

  it('a context or a level that throws is reported once, and the line is written as before', (t) => {
    const { Logger, ConsoleLogger, lines, own, warnings, turn } = nest(t);
    Logger.overrideLogger(own);
    const broken = new Logger('Broken');
    turn('BROKEN', true);
    Object.defineProperty(broken, 'context', {
      get() {
        throw new Error('its own');
      },
    });
    assert.throws(() => broken.debug('d'), /its own/, "Nest's own answer");
    assert.equal(warnings.length, 1);
    const levels = new ConsoleLogger('Levels');
    turn('LEVELS', true);
    Object.defineProperty(levels, 'options', {
      get() {
        throw new Error('its own');
      },
    });
    assert.throws(() => levels.debug('d'), /its own/);
    assert.equal(warnings.length, 2);
    assert.deepEqual(lines, []);
  });

  it('the end of the adoption while a buffered line and a logger are kept', (t) => {
    const { Logger, lines, own, turn, leave, rejoin, names } = nest(t);
    Logger.overrideLogger(own);
    const cats = new Logger('Cats');
    turn('CATS', true);
    Logger.attachBuffer();
    cats.debug('buffered');
    leave();
    Logger.overrideLogger(own);
    Logger.flush();
    cats.debug('after');
    assert.deepEqual(
      lines.map(([, message]) => message),
      ['buffered', 'after'],
    );
    new Logger('Late');
    assert.deepEqual(names(), ['CATS']);
    rejoin();
  });
});

describe('debug', () => {
  it('a frozen instance writes as ever', (t) => {
    const { exports: createDebug, turn, messages, leave, warnings } = setUp<CreateDebug>(t, 'debug');
    const log = Object.freeze(createDebug('frozen'));
    turn('FROZEN', true);
    log('ours');
    leave();
    log('never');
    assert.deepEqual([messages(), warnings], [['ours'], []]);
  });

  it('custom formatters, extend() and destroy()', (t) => {
    const { exports: createDebug, turn, messages, names } = setUp<CreateDebug>(t, 'debug');
    createDebug.formatters.h = (value: Buffer) => value.toString('hex');
    createDebug.formatters.x = () => {
      throw new Error('its own');
    };
    const log = createDebug('app');
    const part = log.extend('part');
    assert.deepEqual(names(), ['APP', 'APP_PART']);
    for (const name of names()) turn(name, true);
    log('bytes %h of %s', Buffer.from([1, 255]), 'it');
    part('part');
    (part as Debugger & { destroy(): boolean }).destroy();
    part('destroyed');
    log('%x', 1);
    log('goes on');
    assert.deepEqual(messages(), ['bytes 01ff of it', 'part', 'destroyed', '[could not be formatted]', 'goes on']);
  });

  it('a log function that the application replaces later, for all or for one, gets the lines', (t) => {
    const { exports: createDebug, turn, messages, leave } = setUp<CreateDebug>(t, 'debug');
    const [own, all]: unknown[][] = [[], []];
    const log = createDebug('app');
    turn('APP', true);
    const native = createDebug.log;
    createDebug.log = (...args: unknown[]) => void all!.push(args[0]);
    log('to all');
    log.log = (...args: unknown[]) => void own!.push(args[0]);
    log('to its own');
    assert.deepEqual([all!.length, own!.length, messages()], [1, 1, []]);
    const replaced = createDebug.log;
    leave();
    assert.equal(createDebug.log, replaced, 'what the application has assigned stays');
    assert.notEqual(native, replaced);
    assert.deepEqual(
      propertiesOf(log)
        .flat()
        .filter(([key]) => key === 'log').length,
      1,
    );
  });

  it('the end of the adoption in the middle of a line', (t) => {
    const { exports: createDebug, turn, leave, messages } = setUp<CreateDebug>(t, 'debug');
    const log = createDebug('middle');
    const lines: unknown[] = [];
    log.log = (...args: unknown[]) => {
      lines.push(args[0]);
      leave();
      log('after');
    };
    turn('MIDDLE', true);
    log('d');
    log('dropped');
    assert.deepEqual([lines.length, messages()], [1, []]);
  });

  it('100,000 instances are one category', (t) => {
    const { exports: createDebug, names, turn, messages } = setUp<CreateDebug>(t, 'debug');
    let last = createDebug('many');
    for (let made = 0; made < 100_000; made++) last = createDebug('many');
    turn('MANY', true);
    last('d');
    assert.deepEqual([names(), messages()], [['MANY'], ['d']]);
  });
});

/** A logger of an export, which writes a line of debug into `lines`. */
const SAYING: Readonly<Record<'debug' | 'pino' | 'winston', (exports: never, lines: unknown[]) => () => void>> = {
  debug: (create: CreateDebug, lines) => {
    const log = create('app');
    log.log = (text: unknown) => void lines.push(text);
    return () => log('d');
  },
  pino: (make: Pino, lines) => {
    const logger = make({ name: 'app' }, { write: (line: string) => void lines.push(line) });
    return () => logger.debug('d');
  },
  winston: (winston: Winston, lines) => {
    const stream = new Writable({ write: (line, _encoding, done) => done(void lines.push(line)) });
    const logger = winston.createLogger({ transports: [new winston.transports.Stream({ stream })] });
    return () => logger.debug('d');
  },
};

describe('what a library exports', () => {
  for (const [name, saying] of Object.entries(SAYING) as [keyof typeof SAYING, (typeof SAYING)['pino']][]) {
    it(`is adopted, and put back, behind a Proxy: ${name}`, (t) => {
      const { exports, version } = loadCopy<object>(name);
      const before = propertiesOf(exports);
      const { load, leave, turn, warnings } = adoptionBench(t, [{ debug: DEBUG, pino: PINO, winston: WINSTON }[name]]);
      const proxy = new Proxy(exports, {});
      load(name, version, proxy);
      const lines: unknown[] = [];
      const say = [saying(proxy as never, lines), saying(exports as never, lines)];
      turn('APP', true);
      for (const each of say) each();
      leave();
      for (const each of say) each();
      assert.deepEqual([lines.length, warnings, propertiesOf(exports)], [2, [], before]);
    });

    it(`is left alone, with one warning, where it is unknown: ${name}`, (t) => {
      const { load, warnings } = adoptionBench(t, [{ debug: DEBUG, pino: PINO, winston: WINSTON }[name]]);
      for (const strange of [() => ({}), class {}, { createLogger: () => ({}) }, undefined])
        load(name, '10.9.9', strange);
      assert.equal(warnings.length, 1);
      assert.ok(warnings[0]!.includes(`${name} 10.9.9`), warnings[0]);
    });
  }
});
