import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import 'reflect-metadata';
import type { LoggerService } from '@nestjs/common';
import { NEST } from '../../src/adopt/nest/nest.ts';
import { PINO as pinoSource } from '../../src/adopt/pino/pino.ts';
import { WINSTON as winstonSource } from '../../src/adopt/winston/winston.ts';
import { adoptionBench, loadCopy, propertiesOf } from './bench.ts';
import type { LoadNest, Pino } from './loggers.ts';

const LINE = /(LOG|WARN|DEBUG|VERBOSE) +(?:\[(\w+)\] )?(.*?)\s*$/;

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
  it('contexts follow the levels that the application sets later, before and after them', async (t) => {
    const { Logger, say, during, turn, byDefault } = await setUp(t, loadNest);
    const before = new Logger('Before');
    assert.equal(byDefault('BEFORE'), true);
    Logger.overrideLogger(['log', 'warn', 'error', 'fatal'] as never);
    const after = new Logger('After');
    assert.deepEqual([byDefault('BEFORE'), byDefault('AFTER')], [false, false]);
    assert.deepEqual([before, after].flatMap(say), [...info('Before'), ...info('After')]);
    turn('BEFORE', true);
    turn('AFTER', true);
    assert.deepEqual([before, after].flatMap(say), [...all('Before'), ...all('After')]);
    turn('AFTER', true, 'error');
    const { write } = process.stderr;
    const errors: string[] = [];
    process.stderr.write = (chunk: unknown) => errors.push(String(chunk)) > 0;
    const lines = during(() => after.fatal('f'));
    process.stderr.write = write;
    assert.match([...errors, ...lines].join(), /FATAL.*f/);
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
    turn('DOGS', true, 'warn');
    assert.deepEqual(
      during(() => Logger.log('s', 'Dogs')),
      [],
    );
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
    const pino = loadCopy<Pino>('pino');
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
    const { exports: pino, version } = loadCopy<Pino>('pino');
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
