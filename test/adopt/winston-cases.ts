import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import type { Container, Logger, transport as Transport } from 'winston';
import { adopted } from './loggers.ts';

interface Info {
  readonly level: string;
  readonly message: string;
}

/** A fresh copy of winston that is adopted, and transports whose lines are kept. */
export function setUp(t: TestContext, copy: string) {
  const { exports: winston, ...bench } = adopted(t, 'winston', { copy });

  class Memory extends ((winston as never as { Transport: unknown }).Transport as new (options?: object) => Transport) {
    readonly lines: Info[] = [];
    override log = (info: Info, next: () => void) => {
      this.lines.push(info);
      next();
    };
    written = () =>
      this.lines
        .splice(0)
        .map(({ level, message }) => `${level} ${message}`)
        .join(', ');
  }

  const memory = (options?: object) => new Memory(options);
  return { ...bench, winston, memory };
}

/** Calls a logger in each way that winston knows. */
export function speak(logger: Logger): void {
  logger.silly('s');
  logger.debug('d', { a: 1 });
  logger.log('debug', 'log');
  logger.log({ level: 'debug', message: 'object' });
  (logger as unknown as { write(info: object): void }).write({ level: 'debug', message: 'write' });
  logger.info('i');
}

const DEBUG = 'debug d, debug log, debug object, debug write, info i';
export const ALL = `silly s, ${DEBUG}`;
export const INFO = 'info i';

/** What holds for every supported version. @param copy name of the package's folder */
export function winstonCases(copy: string): void {
  it('while the category is on, lines reach the transports that take what the logger itself takes', (t) => {
    const { winston, memory, turn, counted } = setUp(t, copy);
    const transports = [memory(), memory({ level: 'info' }), memory({ level: 'warn' })];
    const format = winston.format.combine(winston.format.timestamp(), winston.format.json());
    const logger = winston.createLogger({ format, transports });
    const say = () => {
      speak(logger);
      return transports.map((each) => each.written());
    };
    assert.deepEqual(say(), [INFO, INFO, '']);
    turn('APP', true);
    assert.deepEqual(say(), [ALL, ALL, '']);
    assert.deepEqual([counted('APP'), logger.level], [5, 'info']);
    logger.level = 'warn';
    assert.deepEqual(say(), [ALL, ALL, '']);
    turn('APP', false);
    assert.deepEqual(say(), ['', INFO, '']);
    logger.level = 'silly';
    turn('APP', true, 'info');
    assert.deepEqual(say(), [INFO, INFO, '']);
  });

  it('the default logger, containers and loggers without INFO', (t) => {
    const { winston, memory, turn, names } = setUp(t, copy);
    const all = memory();
    winston.add(all);
    winston.debug('off');
    turn('APP', true);
    winston.debug('on');
    winston.remove(all);
    assert.equal(all.written(), 'debug on');
    const own = memory();
    const billing = (new winston.Container() as Container).add('billing', { transports: [own] });
    assert.ok(names().includes('BILLING'));
    turn('BILLING', true);
    billing.debug('b');
    assert.equal(own.written(), 'debug b');
  });

  it('silent loggers and transports stay silent', (t) => {
    const { winston, memory, turn } = setUp(t, copy);
    const [all, silent] = [memory(), memory({ silent: true })];
    const logger = winston.createLogger({ silent: true, transports: [all] });
    const half = winston.createLogger({ transports: [silent] });
    turn('APP', true);
    speak(logger);
    speak(half);
    assert.deepEqual([all.written(), silent.written()], ['', '']);
  });

  it('without a level info, transports that take the least urgent level that is no debug level take debug lines', (t) => {
    const { winston, memory, turn, counted } = setUp(t, copy);
    const levels = { fatal: 0, error: 1, warn: 2, debug: 3, trace: 4 };
    const transports = [{}, { level: 'warn' }, { level: 'error' }, { level: 'debug' }].map(memory);
    const logger = winston.createLogger({ levels, level: 'warn', transports });
    const say = () => {
      for (const level of Object.keys(levels)) logger.log(level, 'x');
      return transports.map((each) => each.written());
    };
    const [to1, to2] = ['fatal x, error x', 'fatal x, error x, warn x'];
    assert.deepEqual(say(), [to2, to2, to1, `${to2}, debug x`]);
    turn('APP', true);
    const all = `${to2}, debug x, trace x`;
    assert.deepEqual(say(), [all, all, to1, all]);
    assert.equal(counted('APP'), 3);
    turn('APP', false);
    assert.deepEqual(say(), [to2, to2, to1, to2]);
  });

  it('lines that no transport writes are not counted, but tapped', (t) => {
    const { winston, memory, turn, tap, counted } = setUp(t, copy);
    const made: [options: object, ...transports: object[]][] = [
      [{}, { level: 'warn' }, { level: 'error' }],
      [{}, { silent: true }],
      [{ silent: true }, {}],
      [{ level: 'silent' }, {}],
    ];
    const loggers = made.map(([options, ...transports]) =>
      winston.createLogger({ ...options, transports: transports.map(memory) }),
    );
    turn('APP', true);
    for (const logger of loggers) {
      assert.equal(logger.isLevelEnabled?.('debug') ?? false, false);
      speak(logger);
    }
    assert.equal(counted('APP'), 0);
    const { calls } = tap('APP');
    loggers[0]!.debug('tapped');
    assert.equal(calls.length, 1);
  });

  it('a transport that two loggers share, which takes the level of the first', (t) => {
    const { winston, memory, turn } = setUp(t, copy);
    const shared = memory();
    winston.createLogger({ defaultMeta: { service: 'first' }, transports: [shared] });
    const second = winston.createLogger({ level: 'debug', transports: [shared] });
    second.debug('off');
    turn('APP', true);
    second.debug('on');
    assert.equal(shared.written(), 'debug on');
  });

  it('a line that a format leaves out stays out, of a tail as well', (t) => {
    const { winston, memory, turn, tap } = setUp(t, copy);
    const secret = winston.format((info) => (info.message === 'secret' ? false : info));
    const [all, own] = [memory(), memory({ format: secret() })];
    const loggers = [
      winston.createLogger({ format: secret(), transports: [all] }),
      winston.createLogger({ transports: [own] }),
    ];
    const { calls } = tap('APP');
    loggers[0]?.debug('secret');
    turn('APP', true);
    for (const message of ['secret', 'public']) for (const logger of loggers) logger.debug(message);
    assert.deepEqual([all.written(), own.written()], ['debug public', 'debug public']);
    assert.deepEqual(
      calls.map(({ message }) => message),
      ['public', 'public'],
    );
  });

  it('a held back line calls back, and levels of its own are ranked; without a level error none is held back', async (t) => {
    const { winston, memory, turn } = setUp(t, copy);
    const [all, other] = [memory(), memory()];
    const syslog = winston.createLogger({ levels: winston.config.syslog.levels, level: 'debug', transports: [all] });
    const odd = winston.createLogger({ levels: { loud: 0, debug: 1 }, level: 'debug', transports: [other] });
    turn('APP', true, 'error');
    for (const level of Object.keys(winston.config.syslog.levels)) syslog.log(level, level);
    assert.equal(all.written(), 'emerg emerg, alert alert, crit crit, error error');
    for (const level of ['loud', 'debug']) odd.log(level, level);
    assert.equal(other.written(), 'loud loud');
    await new Promise<void>((done) => {
      (syslog as unknown as { write(info: object, callback: () => void): void }).write(
        { level: 'notice', message: 'held' },
        done,
      );
    });
    assert.equal(all.written(), '');
  });
}
