import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { createReporter } from '../src/reporter.ts';

test('a message is one line, whatever it quotes', () => {
  const lines: string[] = [];
  const logger = {
    info: () => assert.fail(),
    warn: (line: string) => void lines.push(line),
    error: () => assert.fail(),
  };
  createReporter(logger).warn('enabled by alice\nrdcp: all is well \u001b[2K\u202e');
  assert.deepEqual(lines, ['rdcp: enabled by alice rdcp: all is well \\u001b[2K\\u202e']);
});

test('a pino logger takes the messages at their levels', () => {
  const written: string[] = [];
  const reporter = createReporter(pino({ base: null, timestamp: false }, { write: (line) => void written.push(line) }));
  reporter.info('a');
  reporter.warn('b');
  reporter.error('c');
  assert.deepEqual(
    written.map((line) => JSON.parse(line)),
    [
      { level: 30, msg: 'rdcp: a' },
      { level: 40, msg: 'rdcp: b' },
      { level: 50, msg: 'rdcp: c' },
    ],
  );
});

test('a logger that throws harms nobody', () => {
  const broken = () => {
    throw new Error('disk full');
  };
  createReporter({ info: broken, warn: broken, error: broken }).error('the endpoint did not start');
});

test('a logger whose promises are rejected harms nobody', async (t) => {
  const unhandled = t.mock.fn();
  process.on('unhandledRejection', unhandled);
  t.after(() => process.off('unhandledRejection', unhandled));
  const broken = async () => {
    throw new Error('disk full');
  };
  createReporter({ info: broken, warn: broken, error: broken }).error('the endpoint did not start');
  await setImmediate();
  assert.equal(unhandled.mock.callCount(), 0);
});
