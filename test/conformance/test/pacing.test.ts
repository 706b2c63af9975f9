import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../src/http.ts';
import { Pacer, rateLimit, retryAfter, secondsToWait } from '../src/pacing.ts';

function answer(status: number, headers: Readonly<Record<string, string>> = {}): Answer {
  const values = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
  const rest = { request: 'GET /', httpVersion: '1.1', text: '', utf8: true, body: undefined, receivedAt: 0 };
  return { ...rest, status, headers: values };
}

test('Retry-After is seconds or a date, and anything else is as if it were missing', () => {
  assert.equal(retryAfter(answer(429)), undefined);
  assert.equal(retryAfter(answer(429, { 'retry-after': '7' })), 7);
  assert.equal(retryAfter(answer(429, { 'retry-after': 'soon' })), undefined);
  assert.equal(retryAfter(answer(429, { 'retry-after': 'Sun, 06 Nov 1994 08:49:37 GMT' })), 0);
  const inAnHour = new Date(Date.now() + 3_600_000).toUTCString();
  const seconds = retryAfter(answer(429, { 'retry-after': inAnHour })) ?? 0;
  assert.ok(seconds > 3000 && seconds <= 3600, `${seconds}`);
});

test('a rate limit is read from the structured header of the draft, or from the older ones', () => {
  assert.equal(rateLimit(answer(200)), undefined);
  assert.deepEqual(rateLimit(answer(200, { ratelimit: '"read";r=3;t=20' })), { remaining: 3, resetSeconds: 20 });
  const older = { 'ratelimit-remaining': '0', 'ratelimit-reset': '9' };
  assert.deepEqual(rateLimit(answer(200, older)), { remaining: 0, resetSeconds: 9 });
  assert.deepEqual(rateLimit(answer(200, { 'ratelimit-remaining': '1' })), { remaining: 1, resetSeconds: 0 });
});

test('only a limit that is used up is waited for, and none that is longer than two minutes', () => {
  assert.equal(secondsToWait(answer(200, { ratelimit: '"read";r=0;t=20' })), 20);
  assert.equal(secondsToWait(answer(200, { ratelimit: '"read";r=1;t=20' })), 0);
  assert.equal(secondsToWait(answer(429, { 'retry-after': '120' })), 120);
  assert.equal(secondsToWait(answer(429, { 'retry-after': '121' })), 0);
  assert.equal(secondsToWait(answer(429)), 0);
});

test('after a refusal with Retry-After the request is repeated, other limits are not delayed, and a notice says so', async () => {
  const notices: string[] = [];
  const pacer = new Pacer((line) => void notices.push(line));
  const answers = [answer(429, { 'retry-after': '1' }), answer(200)];
  assert.equal((await pacer.send('read', async () => answers.shift() ?? answer(500))).status, 200);
  assert.deepEqual(notices, ['waiting 1 s: the server limits the rate of read requests']);
  assert.equal((await pacer.send('control', async () => answer(429))).status, 429);
  assert.equal(notices.length, 1);
});
