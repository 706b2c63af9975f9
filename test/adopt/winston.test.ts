// In a process of its own: it patches winston.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import { assertRecordedAsTapped } from './bench.ts';
import { ALL, INFO, setUp, speak, winstonCases } from './winston-cases.ts';

describe('winston 3.0', () => winstonCases('winston-3.0'));

describe('winston 3', () => {
  winstonCases('winston');

  it('a recorded line has the message and fields that a tail has, whatever formats a logger has', async (t) => {
    const { format } = setUp(t, 'winston').winston;
    const upper = format((info) => ({ ...info, message: String(info.message).toUpperCase(), formatted: 1 }));
    const filter = format((info) => (info.message === 'text' ? false : info));
    for (const [own, ofTransport] of [
      [undefined, undefined],
      [undefined, upper()],
      [undefined, filter()],
      [format.simple(), undefined],
      [format.combine(format.splat(), format.json()), undefined],
      [upper(), filter()],
    ]) {
      const { winston, memory, ...bench } = setUp(t, 'winston');
      const options = { ...(own && { format: own }), defaultMeta: { service: 'app' } };
      const transports = [memory(ofTransport && { format: ofTransport })];
      const logger = winston.createLogger({ ...options, transports });
      await assertRecordedAsTapped(bench, 'APP', () => {
        logger.debug('text');
        logger.debug('\u001b[31mred\u001b[39m', { a: 1, ok: true, text: 'x' });
        logger.debug('%s', 'inserted', { a: 1 });
        logger.debug('nested', { a: { b: [1] }, huge: Infinity, nothing: null });
        logger.log({ level: 'debug', message: 'whole', n: 7 });
        logger.verbose('verbose');
      });
    }
  });

  it('names come from label, service or module in the default meta or of a child, also when that is assigned later', (t) => {
    const { winston, memory, names, turn } = setUp(t, 'winston');
    const all = memory();
    winston.createLogger({ defaultMeta: { service: 'shop', module: 'cart' } });
    winston.createLogger({ defaultMeta: { label: 'front' } });
    winston.createLogger({ format: winston.format.label({ label: 'labelled' }) });
    const logger = winston.createLogger({ transports: [all] });
    logger.child({ requestId: 1 });
    logger.child({ module: 'database' }).child({ table: 'orders' });
    assert.deepEqual(names(), ['SHOP', 'FRONT', 'LABELLED', 'APP', 'DATABASE']);
    logger.defaultMeta = { service: 'late' };
    logger.debug('off');
    turn('LATE', true);
    logger.debug('on');
    assert.equal(all.written(), 'debug on');
  });

  it('a child with a category of its own is on and off apart from its parent', (t) => {
    const { winston, memory, turn } = setUp(t, 'winston');
    const all = memory();
    const root = winston.createLogger({ transports: [all] });
    const database = root.child({ module: 'database' });
    const loggers = [root, root.child({ requestId: 1 }), database, database.child({ table: 'orders' })];
    for (const on of ['APP', 'DATABASE']) {
      for (const name of ['APP', 'DATABASE']) turn(name, name === on);
      const said = loggers.map((logger) => {
        speak(logger);
        return all.written();
      });
      assert.deepEqual(said, on === 'APP' ? [ALL, ALL, INFO, INFO] : [INFO, INFO, ALL, ALL]);
    }
  });

  it('lines of a child carry what they carry without us', (t) => {
    const { winston, memory, turn } = setUp(t, 'winston');
    const all = memory();
    const child = winston.createLogger({ defaultMeta: { host: 'h' }, transports: [all] }).child({ module: 'database' });
    turn('DATABASE', true);
    child.debug('d', { a: 1 });
    const { host, module, a } = all.lines[0] as unknown as Record<string, unknown>;
    assert.deepEqual({ host, module, a }, { host: 'h', module: 'database', a: 1 });
  });

  it('a transport that buffers, and formats that copy the line', async (t) => {
    const { winston, memory, turn } = setUp(t, 'winston');
    const waiting: (() => void)[] = [];
    const slow = memory({ highWaterMark: 1 });
    const log = slow.log;
    slow.log = (info, next) => log(info, () => waiting.push(next));
    const copied = winston.format((info) => ({ ...info, copied: true }));
    const logger = winston.createLogger({ transports: [slow], format: copied() });
    turn('APP', true);
    logger.debug('first');
    logger.debug('second');
    logger.info('third');
    turn('APP', false);
    logger.debug('fourth');
    while (waiting.length > 0) {
      for (const next of waiting.splice(0)) next();
      await new Promise(setImmediate);
    }
    assert.equal(slow.written(), 'debug first, debug second, info third');
  });

  it('a format that prints everything a line has shows nothing of ours', (t) => {
    const { winston, memory, turn } = setUp(t, 'winston');
    const [bare, own] = [memory(), memory({ format: winston.format.printf((info) => inspect(info)) })];
    const printed = (level: string) => {
      const format = winston.format.prettyPrint();
      const logger = winston.createLogger({ level, format, transports: [bare, own] });
      logger.debug('d', { a: 1 });
      logger.child({ requestId: 1 }).debug('child');
      return [bare, own].map(({ lines }) => lines.splice(0).map((line) => inspect(line)));
    };
    const without = printed('debug');
    turn('APP', true);
    assert.deepEqual(printed('info'), without);
  });

  it('an object that is logged again does not pass because it passed before', (t) => {
    const { winston, memory, turn, reset } = setUp(t, 'winston');
    const all = memory();
    const logger = winston.createLogger({ transports: [all] });
    const line = { level: 'debug', message: 'again' };
    turn('APP', true);
    logger.log(line);
    reset('APP');
    logger.log(line);
    assert.equal(all.written(), 'debug again');
  });
});
