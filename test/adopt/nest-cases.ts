import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import 'reflect-metadata';
import type { LoggerService } from '@nestjs/common';
import { NEST } from '../../src/adopt/nest/nest.ts';
import { PINO as pinoSource } from '../../src/adopt/pino/pino.ts';
import { WINSTON as winstonSource } from '../../src/adopt/winston/winston.ts';
import { adoptionBench, loadCopy, propertiesOf } from './bench.ts';

type Nest = typeof import('@nestjs/common');

const LINE = /(LOG|WARN|DEBUG|VERBOSE) +(?:\[(\w+)\] )?(.*?)\s*$/;

/** Loads a copy of `@nestjs/common` that no other test has. */
export type LoadNest = () => Promise<{ readonly exports: Nest; readonly version: string }>;

/** A fresh copy of Nest's loggers that are adopted, beside pino and winston. */
export async function setUp(t: TestContext, loadNest: LoadNest) {
  const { exports: common, version } = await loadNest();
  const { Logger } = common;
  const bench = adoptionBench(t, [NEST, pinoSource, winstonSource]);
  bench.load('@nestjs/common', version, common);
  const chunks: string[] = [];
  const { NO_COLOR } = process.env;
  process.env.NO_COLOR = '1';
  t.after(() => {
    if (NO_COLOR === undefined) delete process.env.NO_COLOR;
    else process.env.NO_COLOR = NO_COLOR;
  });
  /** What Nest writes to stdout meanwhile. */
  const during = (work: () => void) => {
    const { write } = process.stdout;
    process.stdout.write = (chunk: unknown) => chunks.push(String(chunk)) > 0;
    try {
      work();
    } finally {
      process.stdout.write = write;
    }
    return chunks.splice(0).map((chunk) => LINE.exec(chunk)?.slice(1).join(' ') ?? chunk);
  };
  const say = (logger: LoggerService) =>
    during(() => {
      logger.verbose?.('v');
      logger.debug?.('d');
      logger.log('l');
    });
  return { ...bench, common, Logger, during, say };
}

const all = (context: string) => [`VERBOSE ${context} v`, `DEBUG ${context} d`, `LOG ${context} l`];
const info = (context: string) => [`LOG ${context} l`];

/** What holds for every supported version. */
export function nestCases(loadNest: LoadNest): void {
  it('each context is a category, on by default where Nest writes debug lines', async (t) => {
    const { Logger, say, turn, reset, names, byDefault, counted } = await setUp(t, loadNest);
    const cats = new Logger('CatsService');
    assert.equal(names().length, 1);
    const [name = ''] = names();
    assert.equal(byDefault(name), true);
    assert.deepEqual(say(cats), all('CatsService'));
    assert.equal(counted(name), 2);
    turn(name, false);
    assert.deepEqual(say(cats), info('CatsService'));
    reset(name);
    assert.deepEqual(say(cats), all('CatsService'));
  });

  it('lines below the configured levels come out while the category is on', async (t) => {
    const { Logger, say, turn, byDefault, counted } = await setUp(t, loadNest);
    const before = new Logger('Before');
    assert.equal(byDefault('BEFORE'), true);
    Logger.overrideLogger(['log', 'warn', 'error']);
    const after = new Logger('After');
    assert.deepEqual([byDefault('BEFORE'), byDefault('AFTER')], [false, false]);
    assert.deepEqual([before, after].flatMap(say), [...info('Before'), ...info('After')]);
    turn('BEFORE', true);
    turn('AFTER', true);
    assert.deepEqual([before, after].flatMap(say), [...all('Before'), ...all('After')]);
    assert.equal(counted('AFTER'), 2);
  });

  it('what levels above debug hold back comes out while the category is on, info lines included', async (t) => {
    const { Logger, say, during, turn, counted } = await setUp(t, loadNest);
    Logger.overrideLogger(['error']);
    const logger = new Logger('Quiet');
    assert.deepEqual(say(logger), []);
    turn('QUIET', true);
    assert.deepEqual(say(logger), all('Quiet'));
    assert.deepEqual(
      during(() => logger.warn('w')),
      ['WARN Quiet w'],
    );
    assert.equal(counted('QUIET'), 4);
    turn('QUIET', false);
    assert.deepEqual(say(logger), []);
    Logger.overrideLogger(['log']);
    turn('QUIET', true);
    assert.deepEqual(say(new Logger('Quiet')), all('Quiet'));
    // Lines that the level admits are no debug calls.
    assert.equal(counted('QUIET'), 6);
  });

  it('a level lets out less, or takes away less urgent lines; errors always come out', async (t) => {
    const { Logger, during, turn, turnFor, gate, reset, counted } = await setUp(t, loadNest);
    let logger = new Logger('Cats');
    const say = () => {
      const { write } = process.stderr;
      const errors: string[] = [];
      process.stderr.write = (chunk: unknown) => errors.push(String(chunk)) > 0;
      try {
        const lines = during(() => {
          for (const level of ['verbose', 'debug', 'log', 'warn'] as const) logger[level](level[0]);
          Logger.log('static', 'Cats');
          logger.fatal('f');
        });
        return [...lines, ...errors].map((line) => /VERBOSE|DEBUG|LOG|WARN|FATAL/.exec(line)?.[0]);
      } finally {
        process.stderr.write = write;
      }
    };
    const own = ['VERBOSE', 'DEBUG', 'LOG', 'WARN', 'LOG', 'FATAL'];
    assert.deepEqual(say(), own);
    for (const [level, from] of [
      ['trace', 0],
      ['debug', 1],
      ['info', 2],
    ] as const) {
      turn('CATS', true, level);
      assert.deepEqual(say(), own.slice(from), level);
    }
    const before = counted('CATS');
    turn('CATS', true, 'warn');
    assert.deepEqual(say(), ['WARN', 'FATAL']);
    turn('CATS', true, 'error');
    assert.deepEqual(say(), ['FATAL']);
    assert.equal(counted('CATS'), before);
    reset('CATS');
    turnFor('acme', 'CATS', true, 'warn');
    assert.deepEqual(gate.runWithTenant('acme', say), ['WARN', 'FATAL']);
    assert.deepEqual(say(), own);
    Logger.overrideLogger(['error', 'fatal'] as never);
    logger = new Logger('Cats');
    turn('CATS', true, 'info');
    assert.deepEqual(say(), own.slice(2));
    turn('CATS', true, 'warn');
    assert.deepEqual(say(), ['FATAL'], 'nothing more than by its own levels');
  });

  it('guards of ConsoleLogger know the level of their context', async (t) => {
    const { common, turn, reset } = await setUp(t, loadNest);
    const logger = new common.ConsoleLogger('Cats');
    const enabled = () => (['debug', 'log', 'warn', 'error'] as const).map((level) => logger.isLevelEnabled(level));
    assert.deepEqual(enabled(), [true, true, true, true]);
    turn('CATS', true, 'info');
    assert.deepEqual(enabled(), [false, true, true, true]);
    turn('CATS', true, 'error');
    assert.deepEqual(enabled(), [false, false, false, true]);
    reset('CATS');
    assert.deepEqual(enabled(), [true, true, true, true]);
  });

  it('static calls name their context in the last argument', async (t) => {
    const { Logger, during, turn, names } = await setUp(t, loadNest);
    Logger.overrideLogger(['log']);
    const speak = () =>
      during(() => {
        Logger.debug('s', 'Dogs');
        Logger.debug('s', 'Birds');
        Logger.debug('s');
      });
    assert.deepEqual(speak(), []);
    assert.deepEqual(names(), ['DOGS', 'BIRDS', 'APP']);
    turn('DOGS', true);
    assert.deepEqual(speak(), ['DEBUG Dogs s']);
  });

  it('ConsoleLogger and its subclasses, by themselves and behind app.useLogger', async (t) => {
    const { Logger, common, say, turn, counted } = await setUp(t, loadNest);
    class Mine extends common.ConsoleLogger {
      override debug(message: unknown) {
        super.debug(`my ${message}`);
      }
    }
    const direct = new Mine('Direct', { logLevels: ['log'] });
    assert.deepEqual(say(direct), info('Direct'));
    turn('DIRECT', true);
    assert.deepEqual(say(direct), ['VERBOSE Direct v', 'DEBUG Direct my d', 'LOG Direct l']);
    assert.equal(direct.isLevelEnabled('debug'), true);
    const cats = new Logger('Cats');
    Logger.overrideLogger(direct);
    // The subclass leaves the context out: the line is one of its own.
    assert.deepEqual(say(cats), ['DEBUG Direct my d', 'LOG Cats l']);
    turn('CATS', true);
    assert.deepEqual(say(cats), ['VERBOSE Cats v', 'DEBUG Direct my d', 'LOG Cats l']);
    assert.deepEqual([counted('CATS'), counted('DIRECT')], [2, 3]);
  });

  it('buffered lines are decided once', async (t) => {
    const { Logger, during, say, turn, counted } = await setUp(t, loadNest);
    Logger.overrideLogger(['log']);
    const cats = new Logger('Cats');
    turn('CATS', true);
    Logger.attachBuffer();
    assert.deepEqual(say(cats), []);
    assert.deepEqual(
      during(() => Logger.flush()),
      all('Cats'),
    );
    assert.equal(counted('CATS'), 2);
  });

  it('a line that goes on to pino is decided and counted by its context alone, or by pino where that is not switched', async (t) => {
    const { Logger, load, say, turn, reset, counted } = await setUp(t, loadNest);
    const pino = loadCopy<typeof import('pino').default>('pino');
    load('pino', pino.version, pino.exports);
    const lines: string[] = [];
    const behind = pino.exports({}, { write: (line: string) => void lines.push(JSON.parse(line).msg) });
    const service = {
      isLevelEnabled: (level: string) => behind.isLevelEnabled(level),
      log: (message: string, context: string) => behind.info({ context }, message),
      debug: (message: string, context: string) => behind.debug({ context }, message),
      verbose: (message: string, context: string) => behind.trace({ context }, message),
      warn: () => undefined,
      error: () => undefined,
    };
    Logger.overrideLogger(service);
    const cats = new Logger('Cats');
    const written = () => {
      say(cats);
      return lines.splice(0).join();
    };
    assert.equal(written(), 'l');
    turn('CATS', true);
    assert.equal(written(), 'v,d,l');
    assert.deepEqual([counted('CATS'), counted('APP')], [2, 0]);
    turn('APP', true);
    assert.equal(written(), 'v,d,l');
    assert.deepEqual([counted('CATS'), counted('APP')], [4, 0]);
    reset('CATS');
    assert.equal(written(), 'v,d,l');
    assert.deepEqual([counted('CATS'), counted('APP')], [4, 2]);
    turn('CATS', false);
    assert.equal(written(), 'l');
    for (const quiet of ['CATS', 'APP']) {
      reset('CATS');
      reset('APP');
      turn(quiet, true, 'warn');
      assert.equal(written(), '', `${quiet} is quiet`);
    }
  });

  it('secrets in a line that Nest passes on are masked where the logger behind is switched on', async (t) => {
    const { Logger, load, turn } = await setUp(t, loadNest);
    const { exports: pino, version } = loadCopy<typeof import('pino').default>('pino');
    load('pino', version, pino);
    const lines: string[] = [];
    const behind = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line).password) });
    const service = { log() {}, warn() {}, error() {}, debug: (fields: object) => behind.debug(fields, 'line') };
    Logger.overrideLogger(Object.assign(service, { options: { logLevels: ['debug'] } }));
    const cats = new Logger('Cats');
    for (const on of [false, true]) {
      if (on) turn('APP', true);
      cats.debug({ password: 'hunter2' });
    }
    assert.deepEqual(lines, ['hunter2', '[redacted]']);
  });

  it('everything is as it was when the adoption ends', async (t) => {
    const { Logger, common, say, turn, leave, rejoin, names } = await setUp(t, loadNest);
    leave();
    const targets = [Logger, Logger.prototype, common.ConsoleLogger.prototype] as const;
    const before = propertiesOf(...targets);
    rejoin();
    const cats = new Logger('Cats');
    turn('CATS', false);
    assert.deepEqual(say(cats), info('Cats'));
    leave();
    assert.deepEqual(propertiesOf(...targets), before);
    assert.deepEqual(say(cats), all('Cats'));
    new Logger('Unseen');
    assert.ok(!names().includes('UNSEEN'));
  });
}
