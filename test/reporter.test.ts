import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { CONDITIONS, createConditions } from '../src/otel/report/conditions.ts';
import { createFaultReporter, createReporter } from '../src/otel/report/reporter.ts';
import { createStderrWriter } from '../src/otel/report/stderr.ts';
import { RdcpError } from '../src/wire/errors.ts';
import { virtualTime } from './support/virtual-time.ts';

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

test('a logger that throws does no harm', () => {
  const broken = () => {
    throw new Error('disk full');
  };
  createReporter({ info: broken, warn: broken, error: broken }).error('the endpoint did not start');
});

test('a logger whose promises are rejected does no harm', async (t) => {
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

test('a message as long as a request may make it is cut, and says so', () => {
  const lines: string[] = [];
  const logger = { info: (line: string) => void lines.push(line), warn: () => {}, error: () => {} };
  createReporter(logger).info('x'.repeat(2001));
  assert.deepEqual(lines, [`rdcp: ${'x'.repeat(2000)}…`]);
});

/** stderr whose reader is in our hands. */
function heldStderr(t: TestContext) {
  const held = { waiting: 0, lines: [] as string[], written: [] as (() => void)[] };
  Object.defineProperty(process.stderr, 'writableLength', { configurable: true, get: () => held.waiting });
  t.after(() => Reflect.deleteProperty(process.stderr, 'writableLength'));
  t.mock.method(process.stderr, 'write', (bytes: Buffer, done: () => void) => {
    held.lines.push(bytes.toString());
    held.written.push(done);
    return true;
  });
  return held;
}

test('while stderr is not read messages are dropped, and the next one is preceded by their number', async (t) => {
  const stderr = heldStderr(t);
  const { warn } = createReporter();
  stderr.waiting = 2 ** 20;
  warn('lost');
  warn('lost too');
  assert.deepEqual(stderr.lines, []);
  stderr.waiting = 0;
  warn('read');
  warn('read too');
  assert.deepEqual(stderr.lines, [
    'rdcp: 2 messages were dropped because stderr was not read\n',
    'rdcp: read\n',
    'rdcp: read too\n',
  ]);
  for (const done of stderr.written) done();
  await setImmediate();
});

test('errors of stderr are swallowed until the last line is written, and not longer', async (t) => {
  const stderr = heldStderr(t);
  const before = process.stderr.listenerCount('error');
  const listening = () => process.stderr.listenerCount('error') - before;
  const write = createStderrWriter();
  write('a');
  stderr.written[0]?.();
  stderr.waiting = 3;
  write('b');
  await setImmediate();
  assert.equal(listening(), 1);
  stderr.written[1]?.();
  await setImmediate();
  assert.deepEqual([listening(), stderr.lines], [0, ['a\n', 'b\n']]);
});

test('each kind of fault has one line a minute, and the next one says how many were left out', () => {
  const lines: string[] = [];
  let now = 0;
  const reporter = { info: assert.fail, warn: assert.fail, error: (line: string) => void lines.push(line) };
  const report = createFaultReporter(reporter, { monotonic: () => now });
  const error = (message: string, frames = '') =>
    Object.assign(new RangeError(message), { stack: `RangeError: ${message}\n${frames}` });
  const faults: readonly (readonly [error: unknown, text: string])[] = [
    [error('a', '    at async Views.of (/home/shop/app.js:1:1)'), 'RangeError in Views.of'],
    [error('two\n    at secret (x)', '    at /home/shop/app.js:1:1\n    at new Tail (x)'), 'RangeError in Tail'],
    [Object.assign(error('c'), { code: 'ERR_OUT_OF_RANGE' }), 'RangeError (ERR_OUT_OF_RANGE)'],
    ['a secret', 'a thrown string'],
    [new RdcpError('RDCP_SERVER_ERROR', 'The body was read before'), 'The body was read before'],
  ];
  const each = (more = '') =>
    faults.map(([, text]) => `x failed: RDCP_SERVER_ERROR: ${text}; see docs/messages.md#internal-errors${more}`);
  for (const at of [0, 1, 59_999]) {
    now = at;
    for (const [fault] of faults) report(fault, 'x');
  }
  assert.deepEqual(lines.splice(0), each());
  now = 60_000;
  for (const [fault] of faults) report(fault, 'x');
  assert.deepEqual(lines.splice(0), each(' (2 more times since the last message)'));
  now = 120_000;
  for (const [fault] of faults) report(fault, 'x');
  assert.deepEqual(lines, each());
});

function setUp() {
  const time = virtualTime();
  const lines: string[] = [];
  const failures: string[] = [];
  const entries: (string | undefined)[] = [];
  const say = (level: string) => (message: string) => void lines.push(`${level} ${message}`);
  const conditions = createConditions({
    reporter: { info: say('info'), warn: say('warn'), error: say('error') },
    clock: time.clock,
    delay: time.delay,
    credentialsFailed: (name) => void failures.push(name),
    credentialsChanged: (_name, problem) => void entries.push(problem),
  });
  return { time, lines, failures, entries, conditions };
}

const { meanwhile, over } = CONDITIONS.keys_file;

test('a condition is said once when it begins, once for each other problem, and once when it ends', () => {
  const { conditions, lines, failures, entries } = setUp();
  const condition = conditions.watch('keys_file');
  condition.end();
  condition.begin('the file is gone');
  condition.begin('the file is gone');
  condition.begin('the file is empty');
  assert.deepEqual(conditions.holding, [{ name: 'keys_file', problem: 'the file is empty', credentials: true }]);
  condition.end();
  condition.end();
  assert.deepEqual(lines, [
    `warn the file is gone; ${meanwhile}`,
    `warn the file is empty; ${meanwhile}`,
    `info ${over}`,
  ]);
  assert.deepEqual(failures, ['keys_file', 'keys_file']);
  assert.deepEqual(entries, ['the file is gone', 'the file is empty', undefined]);
  assert.deepEqual(conditions.holding, []);
  assert.deepEqual([...conditions.seen], ['keys_file']);
});

test('two places of one kind hold and end by themselves', () => {
  const { conditions, lines } = setUp();
  const [one, other] = [conditions.watch('jwks'), conditions.watch('jwks')];
  one.begin('security.jwt.0.jwksUri cannot be reached');
  other.begin('security.jwt.1.jwksUri cannot be reached');
  one.end();
  assert.deepEqual(
    conditions.holding.map(({ problem }) => problem),
    ['security.jwt.1.jwksUri cannot be reached'],
  );
  assert.equal(lines.length, 3);
});

test('one outage that shows in several errors is said once', () => {
  const { conditions, lines } = setUp();
  const condition = conditions.watch('store');
  condition.begin('the store cannot be reached (ECONNREFUSED)');
  condition.begin('the store cannot be reached');
  assert.equal(lines.length, 1);
});

test('what is not about credentials is said, and neither counted nor audited', () => {
  const { conditions, lines, failures, entries } = setUp();
  conditions.watch('store').begin('the store cannot be reached');
  assert.deepEqual([lines.length, failures.length, entries.length], [1, 0, 0]);
});

test('a source that comes and goes is one line a minute with how often, and the last line is true', async () => {
  const { time, conditions, lines, failures, entries } = setUp();
  const condition = conditions.watch('introspection');
  const flap = (times: number) => {
    for (let time = 0; time < times; time++) {
      condition.begin('the issuer is away');
      condition.end();
    }
  };
  flap(1000);
  assert.equal(lines.length, 10);
  await time.pass(60_000);
  assert.deepEqual(lines.slice(10), [`info ${CONDITIONS.introspection.over} (changed 1990 times in the last minute)`]);
  flap(500);
  condition.begin('the issuer is away');
  await time.pass(60_000);
  assert.match(lines.at(-1) ?? '', /^warn the issuer is away.*\(changed \d+ times in the last minute\)$/);
  assert.ok(lines.length <= 21);
  assert.equal(entries.length, lines.length);
  assert.equal(failures.length, 1501);
  await time.pass(3_600_000);
  const before = lines.length;
  condition.end();
  assert.deepEqual(lines.slice(before), [`info ${CONDITIONS.introspection.over}`]);
});

test('once closed nothing is said any more, and no timer is left', async () => {
  const { time, conditions, lines } = setUp();
  const condition = conditions.watch('store');
  for (let times = 0; times < 10; times++) {
    condition.begin('away');
    condition.end();
  }
  conditions.close();
  assert.equal(time.pending, 0);
  condition.begin('away');
  await time.pass(120_000);
  assert.equal(lines.length, 10);
});
