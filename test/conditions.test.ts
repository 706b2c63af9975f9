import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONDITIONS, createConditions } from '../src/otel/report/conditions.ts';
import { virtualTime } from './support/virtual-time.ts';

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
