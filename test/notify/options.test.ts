import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { parseConfig } from '../../src/options/config.ts';
import type { WebhookOptions } from '../../src/options/options.ts';
import { createNotifier } from '../../src/trail/notify/notifier.ts';
import { keyOfSecret, signedHeaders } from '../../src/trail/notify/webhook.ts';
import { isRdcpError } from '../../src/wire/errors.ts';
import { recordConditions } from '../support/conditions.ts';
import { virtualTime } from '../support/virtual-time.ts';

const secretOf = (bytes: number) => `whsec_${Buffer.alloc(bytes, 0xfb).toString('base64')}`;
const URL_OF = 'https://hooks.example/rdcp';

/** What a start says of a webhook; undefined where it is taken. */
function problemOf(webhook: object): string | undefined {
  try {
    const { notify } = parseConfig({ notify: { webhook } });
    createNotifier({
      webhooks: [notify.webhook ?? []].flat() as WebhookOptions[],
      source: () => ({ service: 'shop', host: 'web-1', pid: 7 }),
      clock: { now: () => 0 },
      delay: virtualTime().delay,
      conditions: recordConditions(),
      reporter: { warn: () => undefined },
      count: () => undefined,
      report: assert.ifError,
    });
    return undefined;
  } catch (error) {
    assert.ok(isRdcpError(error) && error.code === 'RDCP_CONFIG_INVALID', String(error));
    for (const shown of ['/a-secret-path', ':pw@', Buffer.alloc(18, 0xfb).toString('base64')]) {
      assert.ok(!error.message.includes(shown), error.message);
    }
    return error.message.replace('configuration: ', '').replace(/^notify\.webhook\.?/, '');
  }
}

test('a receiver is an https URL, or http on loopback, without a user', () => {
  const of = (url: unknown) => problemOf({ url, secret: secretOf(32) });
  for (const url of [
    'https://hooks.example',
    'https://hooks.example:8443/a/b?c=d#e',
    'HTTPS://HOOKS.EXAMPLE/',
    'http://localhost:8090',
    'http://127.0.0.1/hook',
    'http://127.8.8.8/hook',
    'http://[::1]:8090/hook',
    ` ${URL_OF} `,
    `https://hooks.example/${'x'.repeat(4000)}`,
  ]) {
    assert.equal(of(url), undefined, url);
  }
  for (const url of [
    'http://hooks.example/a-secret-path',
    'http://127.0.0.1.example.com/',
    'http://localhost.example/',
    'http://0.0.0.0/',
    'ftp://hooks.example/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'hooks.example/path',
    '/path',
    'https://',
    'https://ops@hooks.example/',
    'https://:pw@hooks.example/',
    'https://hooks.example:99999/',
    ' ',
    '\u0000',
  ]) {
    assert.match(of(url) ?? `taken: ${url}`, /url must be an https URL without a user name or password$/);
  }
  assert.match(of('') ?? '', /url must have at least 1 characters$/);
  for (const url of [undefined, null, 5, true, {}, []]) assert.match(of(url) ?? '', /url must be a string/);
});

test('a secret is whsec_ and the base64 of 24 to 64 bytes, one or several', () => {
  const of = (secret: unknown) => problemOf({ url: URL_OF, secret });
  for (const secret of [24, 25, 26, 32, 64].map(secretOf)) {
    for (const written of [secret, secret.replace(/=+$/, ''), [secret], [secret, secretOf(48)], [secret, secret]]) {
      assert.equal(of(written), undefined, String(written));
    }
  }
  const good = secretOf(32);
  for (const secret of [
    ...[0, 1, 23, 65, 1000].map(secretOf),
    'whsec_',
    good.slice('whsec_'.length),
    good.toUpperCase(),
    `WHSEC_${good.slice(6)}`,
    ` ${good}`,
    `${good}\n`,
    `whsec_${'\u65e5'.repeat(40)}`,
    // base64url
    good.replaceAll('+', '-').replaceAll('/', '_'),
    good.replace('whsec_', 'whsk_'),
    [good, 'short'],
    ' ',
    '\u0000',
  ]) {
    assert.match(of(secret) ?? `taken: ${secret}`, /secret must be whsec_ and the base64 of 24 to 64 bytes$/);
  }
  assert.match(of([]) ?? '', /secret/);
  assert.match(of('') ?? '', /secret/);
  for (const secret of [null, 5, {}]) assert.match(of(secret) ?? '', /secret must be a string or an array$/);
  assert.match(of(undefined) ?? '', /secret is required$/);
  assert.match(problemOf({ url: URL_OF, secret: good, format: 'teams' }) ?? '', /^format must be one of/);
  assert.match(problemOf({ url: URL_OF, secret: good, retries: 3 }) ?? '', /^retries is not a known field/);
  assert.equal(problemOf({ url: URL_OF, format: 'slack' }), undefined);
  assert.match(problemOf({ url: URL_OF, format: 'slack', secret: 'short' }) ?? '', /secret must be whsec_/);
});

test('events are some of those that there are', () => {
  const of = (events: unknown) => problemOf({ url: URL_OF, secret: secretOf(32), events });
  const all = ['change', 'expiry', 'refusal', 'budget', 'loss', 'credentials'];
  for (const events of [undefined, all, ['change'], ['change', 'change']]) assert.equal(of(events), undefined);
  assert.equal(of([]), 'events must hold at least one event');
  for (const event of ['', 'Change', 'changes', 'rdcp.change', '*', ' change', 'change\u0000', null, 5]) {
    assert.match(of(['change', event]) ?? `taken: ${event}`, /^events\.1 must be one of .*change.*credentials/);
  }
  assert.match(of('change') ?? '', /^events must be an array/);
});

test('one of several receivers that cannot be used is named by its place, and no receiver is none', () => {
  const good = { url: URL_OF, secret: secretOf(32) };
  assert.equal(problemOf([good, good]), undefined);
  assert.match(problemOf([good, { ...good, url: 'http://hooks.example' }]) ?? '', /^1\.url must be an https URL/);
  assert.match(problemOf([good, { ...good, secret: 'x' }]) ?? '', /^1\.secret must be whsec_/);
  assert.match(problemOf([]) ?? '', /must hold at least one webhook$/);
});

test('a signature is the HMAC-SHA256 of id, time and body, one for each secret in their order', () => {
  const secrets = [secretOf(24), secretOf(64)];
  const body = '{"reason":"\u65e5\u672c \ud83d\ude80"}';
  const headers = signedHeaders(
    secrets.map((secret) => keyOfSecret(secret) as Buffer),
    { id: 'e-1', seconds: 1_767_225_600, body },
  );
  // By Standard Webhooks, section "Signature scheme", from the raw bytes of what is sent.
  const expected = secrets.map((secret) => {
    const mac = createHmac('sha256', Buffer.from(secret.slice(6), 'base64'));
    for (const part of ['e-1', '.', '1767225600', '.', body]) mac.update(Buffer.from(part, 'utf8'));
    return `v1,${mac.digest('base64')}`;
  });
  assert.deepEqual(headers, {
    'webhook-id': 'e-1',
    'webhook-timestamp': '1767225600',
    'webhook-signature': expected.join(' '),
  });
});
