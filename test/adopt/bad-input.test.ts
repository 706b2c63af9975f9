// In a process of its own: it patches loggers.

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Debugger } from 'debug';
import { propertiesOf } from './bench.ts';
import { adopted, destination, type Libraries } from './loggers.ts';

function setUp<Name extends keyof Libraries>(t: TestContext, name: Name) {
  const lines: Record<string, unknown>[] = [];
  const out = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const written = () => lines.splice(0).map(({ msg, message }) => msg ?? message);
  return { ...adopted(t, name), lines, out, written };
}

describe('pino', () => {
  it('a frozen logger is switched, and writes as ever afterwards', (t) => {
    const { exports: pino, out, written, turn, names, warnings, leave } = setUp(t, 'pino');
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

  it('bindings, mixins and functions for names that throw', (t) => {
    const { exports: pino, out, written, turn, names } = setUp(t, 'pino');
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
    const { exports: pino, written, out, turn } = setUp(t, 'pino');
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
    const { exports: pino, out, lines, turn, tap, counted, warnings } = setUp(t, 'pino');
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
});

describe('winston', () => {
  it('a format that throws or drops the line does so as ever', (t) => {
    const { exports: winston, turn, warnings } = setUp(t, 'winston');
    const { stream, written } = destination({});
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
    const messages = written().map((line) => (line as { message: unknown }).message);
    assert.deepEqual(messages, ['d', 'after', 'i'], String(warnings));
  });

  it('messages that are no text, and lines that are no objects', (t) => {
    const { exports: winston, turn, counted, tap, warnings } = setUp(t, 'winston');
    const { stream, written } = destination({});
    const logger = winston.createLogger({
      defaultMeta: { service: 'odd' },
      transports: [new winston.transports.Stream({ stream })],
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
    const messages = written().map((line) => String((line as { message: unknown }).message));
    assert.deepEqual(messages.slice(0, 3), ['7', '[object Object]', 'text']);
    assert.equal(counted('ODD'), 3);
    assert.deepEqual([calls.length, calls.at(-1)?.message], [3, 'text']);
    assert.deepEqual(warnings, []);
  });
});

describe('Nest', () => {
  function nest(t: TestContext) {
    const { exports, ...bench } = adopted(t, '@nestjs/common');
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
    const { exports: createDebug, turn, messages, leave, warnings } = setUp(t, 'debug');
    const log = Object.freeze(createDebug('frozen'));
    turn('FROZEN', true);
    log('ours');
    leave();
    log('never');
    assert.deepEqual([messages(), warnings], [['ours'], []]);
  });

  it('custom formatters, extend() and destroy()', (t) => {
    const { exports: createDebug, turn, messages, names } = setUp(t, 'debug');
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
    const { exports: createDebug, turn, messages, leave } = setUp(t, 'debug');
    const [own, all]: unknown[][] = [[], []];
    const log = createDebug('app');
    turn('APP', true);
    const native = createDebug.log;
    createDebug.log = (...args: unknown[]) => void all!.push(args[0]);
    log('to all');
    const ownLog = (...args: unknown[]) => void own!.push(args[0]);
    log.log = ownLog;
    log('to its own');
    assert.deepEqual([all!.length, own!.length, messages(), log.log], [1, 1, [], ownLog]);
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
});
