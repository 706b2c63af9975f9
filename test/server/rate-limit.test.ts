import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRateLimiter } from '../../src/endpoint/middleware/access.ts';
import { addressKey } from '../../src/endpoint/request.ts';
import fc from '../support/fast-check.ts';
import { inBoth, runs } from '../support/tiers.ts';

function limiterAt(limit: number) {
  let now = 0;
  const limiter = createRateLimiter({ name: 'test', limit, clock: { monotonic: () => now } });
  return {
    limiter,
    at: (time: number) => {
      now = time;
    },
  };
}

inBoth('no rolling window holds more allowed requests than the limit, and none is refused without need', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 40 }),
      fc.array(fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: 70_000 })), { maxLength: 300 }),
      (limit, gaps) => {
        const { limiter, at } = limiterAt(limit);
        const allowed: number[] = [];
        let now = 0;
        for (const gap of gaps) {
          now += gap;
          at(now);
          const inWindow = allowed.filter((time) => time > now - 60_000).length;
          const verdict = limiter.take('client');
          assert.equal(verdict.allowed, inWindow < limit);
          if (verdict.allowed) allowed.push(now);
          assert.equal(verdict.remaining, limit - inWindow - (verdict.allowed ? 1 : 0));
        }
        for (const start of allowed) {
          assert.ok(allowed.filter((time) => time >= start && time < start + 60_000).length <= limit);
        }
      },
    ),
    { numRuns: runs(500) },
  );
});

test('a client that waits until the stated reset is allowed', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 59_000, noNaN: true }), { minLength: 5, maxLength: 5 }), (times) => {
      const { limiter, at } = limiterAt(5);
      for (const time of times.sort((a, b) => a - b)) {
        at(time);
        limiter.take('client');
      }
      at(59_500);
      const { allowed, resetSeconds } = limiter.take('client');
      if (allowed) return;
      assert.ok(Number.isInteger(resetSeconds) && resetSeconds >= 1);
      at(59_500 + resetSeconds * 1000);
      assert.equal(limiter.take('client').allowed, true);
    }),
  );
});

test('twice the limit does not pass around the boundary of a minute', () => {
  const { limiter, at } = limiterAt(60);
  at(59_000);
  for (let index = 0; index < 60; index += 1) assert.equal(limiter.take('client').allowed, true);
  at(61_000);
  assert.equal(limiter.take('client').allowed, false);
  at(119_000);
  assert.equal(limiter.take('client').allowed, true);
});

test('each key has a quota of its own', () => {
  const { limiter } = limiterAt(1);
  assert.equal(limiter.take('one').allowed, true);
  assert.equal(limiter.take('two').allowed, true);
  assert.equal(limiter.take('one').allowed, false);
});

test('only the first refusal after an allowed request is a new one', () => {
  const { limiter, at } = limiterAt(1);
  limiter.take('client');
  assert.deepEqual(
    [limiter.take('client'), limiter.take('client')].map(({ repeated }) => repeated),
    [false, true],
  );
  at(60_000);
  assert.equal(limiter.take('client').allowed, true);
  assert.equal(limiter.take('client').repeated, false);
});

test('counters are bounded, and having one forgotten takes far more than 10,000 other clients', () => {
  const { limiter } = limiterAt(1);
  limiter.take('first');
  for (let index = 0; index < 19_999; index += 1) limiter.take(`other-${index}`);
  assert.equal(limiter.take('first').allowed, false);
  for (let index = 0; index < 20_000; index += 1) limiter.take(`another-${index}`);
  assert.equal(limiter.take('first').allowed, true, 'the quietest is forgotten');
  assert.equal(limiter.take('another-19999').allowed, false);
});

test('whether a quota is spent is known without spending any of it', () => {
  const { limiter, at } = limiterAt(2);
  for (const spent of [false, false, true, true]) {
    assert.equal(limiter.isSpent('client'), spent);
    assert.equal(limiter.isSpent('client'), spent);
    limiter.take('client');
  }
  at(59_999);
  assert.equal(limiter.isSpent('client'), true);
  at(60_000);
  assert.equal(limiter.isSpent('client'), false);
});

test('an IPv6 subscriber counts as one address, an IPv4 address as itself', () => {
  assert.equal(addressKey('192.0.2.1'), '192.0.2.1');
  assert.equal(addressKey('2001:db8:1:2::1'), addressKey('2001:db8:1:2:ffff:ffff:ffff:ffff'));
  assert.equal(addressKey('2001:0db8:0001:0002::1'), addressKey('2001:db8:1:2::2'));
  assert.notEqual(addressKey('2001:db8:1:2::1'), addressKey('2001:db8:1:3::1'));
  assert.equal(addressKey('::1'), '0:0:0:0');
  assert.equal(addressKey('fe80::1%eth0'), addressKey('fe80::2'));
});
