// In a process of its own: it patches loggers.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { DEBUG } from '../../src/adopt/debug/debug.ts';
import { adoptionBench, loadCopy } from './bench.ts';
import { setUp as setUpPino } from './pino-cases.ts';
import { setUp as setUpWinston } from './winston-cases.ts';

for (const copy of ['pino', 'pino-8']) {
  it(`${copy}: debug lines of one user's work come out of the logger's own destination`, (t) => {
    const { gate, pino, out, written, turnForUser, counted } = setUpPino(t, copy);
    const logger = pino({ name: 'app' }, out);
    const end = turnForUser('42', 'APP');
    const work = (user: string) =>
      gate.work.run({ 'user.id': user }, () => {
        logger.debug(`debug of ${user}`);
        logger.info(`info of ${user}`);
      });
    work('42');
    work('43');
    assert.equal(written(), '20 debug of 42, 30 info of 42, 30 info of 43');
    assert.equal(counted('APP'), 1);
    gate.work.run({ 'user.id': '42' }, () => assert.equal(logger.isLevelEnabled('debug'), true));
    end();
    work('42');
    assert.equal(written(), '30 info of 42');
  });
}

it("winston: debug lines of one user's work come out of the logger's transports", (t) => {
  const { gate, winston, memory, turnForUser } = setUpWinston(t, 'winston');
  const transport = memory();
  const logger = winston.createLogger({ level: 'info', defaultMeta: { label: 'app' }, transports: [transport] });
  const end = turnForUser('42', gate.categories()[0]!.name);
  const work = (user: string) =>
    gate.work.run({ 'user.id': user }, () => {
      logger.debug(`debug of ${user}`);
      logger.info(`info of ${user}`);
    });
  work('42');
  work('43');
  assert.equal(transport.written(), 'debug debug of 42, info info of 42, info info of 43');
  end();
  work('42');
  assert.equal(transport.written(), 'info info of 42');
});

it("debug: lines of one user's work come out of our outputs", (t) => {
  const { exports: debug, version } = loadCopy<(namespace: string) => (message: string) => void>('debug');
  const { gate, load, messages, turnForUser, counted } = adoptionBench(t, [DEBUG]);
  load('debug', version, debug);
  const log = debug('app:sql');
  log('registers the namespace');
  const end = turnForUser('42', 'APP_SQL');
  for (const user of ['41', '42', '43']) gate.work.run({ 'user.id': user }, () => log(`of ${user}`));
  assert.deepEqual(messages(), ['of 42']);
  assert.equal(counted('APP_SQL'), 1);
  end();
  gate.work.run({ 'user.id': '42' }, () => log('after the end'));
  assert.deepEqual(messages(), []);
});
