import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { auditRecord } from '../../src/trail/log-record.ts';
import { eventOf, slackBody } from '../../src/trail/notify/event.ts';
import { createNotifier } from '../../src/trail/notify/notifier.ts';
import type { RecordedEntry } from '../../src/trail/types.ts';
import type { ChangeRecord } from '../../src/wire/messages.ts';
import { chain } from '../audit/entries.ts';
import { recordConditions } from '../support/conditions.ts';
import { virtualTime } from '../support/virtual-time.ts';
import { openReceiver } from './receiver.ts';

const SOURCE = { service: 'shop', host: 'web-1', pid: 7 };

function entry(fields: Partial<RecordedEntry>): RecordedEntry {
  return {
    id: 'e-1',
    timestamp: '2026-01-01T00:00:00.000Z',
    action: 'enable',
    categories: (fields.changes ?? []).map(({ category }) => category),
    changes: [],
    outcome: 'success',
    identity: {},
    compliance: {},
    ...fields,
  };
}

function change(category: string, newState: boolean, minutes?: number): ChangeRecord {
  const effectiveAt = '2026-01-01T00:00:00.000Z';
  const expiresAt =
    minutes === undefined ? {} : { expiresAt: new Date(Date.UTC(2026, 0, 1, 0, minutes)).toISOString() };
  return { category, previousState: !newState, newState, temporary: minutes !== undefined, effectiveAt, ...expiresAt };
}

/** The event of an entry, and its line in a chat. */
function told(fields: Partial<RecordedEntry>): readonly [string | undefined, string?] {
  const recorded = entry(fields);
  const event = eventOf(recorded);
  if (event === undefined) return [event];
  const { text } = JSON.parse(slackBody({ event, entry: recorded }, { source: SOURCE, now: 0 })) as { text: string };
  return [event, text.replace(/^shop on web-1: /, '')];
}

test('a change says what, for how long, for which tenant, by whom and why', () => {
  const identity = { userId: 'alice', clientId: 'laptop' };
  const tenant = { id: 'acme' };
  const changes = [change('CACHE', true, 5), change('DATABASE', true, 5), change('HTTP', false)];
  assert.deepEqual(told({ changes, identity, tenant, reason: 'slow checkout' }), [
    'change',
    'CACHE, DATABASE on for 5m; HTTP off for tenant acme by alice: slow checkout',
  ]);
  assert.deepEqual(told({ action: 'reset', changes: [change('HTTP', false)], identity: { clientId: 'laptop' } }), [
    'change',
    'HTTP back to default by laptop',
  ]);
  assert.deepEqual(told({ changes: [change('HTTP', true, 5)], outcome: 'partial' }), [
    'change',
    'HTTP on for 5m, in one process alone until the store is available',
  ]);
  const levels = [
    { ...change('NOISY', true, 60), otelrdcp_level: 'warn' as const },
    { ...change('HTTP', true, 5), otelrdcp_level: 'info' as const },
  ];
  assert.deepEqual(told({ changes: levels }), ['change', 'NOISY quiet below warn for 1h; HTTP on from info up for 5m']);
  assert.deepEqual(told({ categories: ['HTTP'] }), ['change', 'enable of HTTP changed nothing']);
});

test('an activation says for what work, and whether its lines are written', () => {
  const expiresAt = '2026-01-08T00:00:00.000Z';
  const record = { id: 'a1', record: true as const, expiresAt };
  const user = {
    id: 'a2',
    target: { match: { 'user.id': 'hmac:0123456789ab' } },
    expiresAt: '2026-01-01T00:05:00.000Z',
  };
  const rows: [Partial<RecordedEntry>, string][] = [
    [{ otelrdcp_activation: record }, 'ORDERS recorded for 7d'],
    [{ otelrdcp_activation: { id: 'a1', record: true } }, 'ORDERS recorded'],
    [{ otelrdcp_activation: user }, 'ORDERS on for user.id=(hidden) for 5m'],
    [{ action: 'reset', otelrdcp_activation: record }, 'ORDERS not recorded any more'],
    [{ action: 'expire', otelrdcp_activation: record }, 'ORDERS not recorded any more, the time is over'],
    [{ action: 'expire', otelrdcp_activation: user }, 'ORDERS off again for user.id=(hidden), the time is over'],
  ];
  for (const [fields, text] of rows) assert.equal(told({ categories: ['ORDERS'], ...fields })[1], text);
});

test('many names are counted', () => {
  const changes = Array.from({ length: 30 }, (_, index) => change(`C${index}`, true));
  assert.match(told({ changes })[1] ?? '', /^C0, .*, C19 and 10 more on$/);
});

test('the end of a control says whether its time or its budget was over', () => {
  const changes = [change('HTTP', false)];
  assert.deepEqual(told({ action: 'expire', changes }), ['expiry', 'HTTP off again, the time is over']);
  assert.deepEqual(told({ action: 'expire', changes, reason: 'budget' }), [
    'budget',
    'HTTP off again, the budget is used up',
  ]);
});

test('refusals are of everything that was denied, and of controls that failed', () => {
  const denied = { outcome: 'denied', error: 'RDCP_AUTH_FAILED', source: { address: '192.0.2.7' } } as const;
  assert.deepEqual(told({ ...denied, action: 'authenticate', count: 12, reason: 'unknown_key' }), [
    'refusal',
    '12 requests were refused: authenticate from 192.0.2.7 (RDCP_AUTH_FAILED): unknown_key',
  ]);
  assert.equal(told({ ...denied, action: 'token.reuse' })[0], 'refusal');
  assert.deepEqual(told({ outcome: 'failed', error: 'RDCP_CATEGORY_NOT_FOUND', identity: { userId: 'alice' } }), [
    'refusal',
    'a request was refused: enable by alice (RDCP_CATEGORY_NOT_FOUND)',
  ]);
});

test('losses and credential sources are sent, housekeeping is not', () => {
  const changes = [change('HTTP', false)];
  assert.deepEqual(told({ action: 'state_reset', reason: 'the store came back empty', changes }), [
    'loss',
    'the store has lost changes: the store came back empty; HTTP off',
  ]);
  assert.deepEqual(told({ action: 'credentials.reload', outcome: 'failed', reason: 'keys.json is not JSON' }), [
    'credentials',
    'keys.json is not JSON',
  ]);
  for (const action of ['status', 'prune', 'token.issue', 'token.refresh', 'token.revoke'] as const) {
    assert.deepEqual(told({ action }), [undefined]);
  }
});

test('a reason cannot mention a person or a channel', () => {
  const changes = [change('HTTP', true)];
  const reasonOf = (reason: string) => told({ changes, reason })[1]?.replace('HTTP on: ', '');
  assert.equal(reasonOf('<!channel> & <@U1>'), '&lt;!channel&gt; &amp; &lt;@\u2060U1&gt;');
  for (const name of ['channel', 'here', 'all', 'everyone']) {
    assert.equal(reasonOf(`@${name} (@${name})`), `@\u2060${name} (@\u2060${name})`);
  }
  assert.equal(reasonOf('of ann@example.com at @ 5'), 'of ann@example.com at @ 5');
  const source = { service: '<!here>', host: '@all' };
  const { text } = JSON.parse(
    slackBody({ event: 'change', entry: entry({ changes }) }, { source: { ...SOURCE, ...source }, now: 0 }),
  ) as { text: string };
  assert.equal(text, '&lt;!here&gt; on @\u2060all: HTTP on');
});

test('a reason cannot turn, hide or break the line of a chat', () => {
  const reason = 'fix \u202Eevil\u2066 a\u200Bb\nHTTP off by ann\u0007';
  const [, line = ''] = told({ changes: [change('HTTP', true)], reason, tenant: { id: 'a\u202Eb' } });
  assert.match(line, /a\\u202eb: fix \\u202eevil\\u2066 a\\u200bb\\u000aHTTP off by ann\\u0007$/);
  assert.ok(!/[\p{Cc}\p{Cf}]/u.test(line));
});

test('a line of a chat has room for every name, state and reason that an entry can have', () => {
  const changes = Array.from({ length: 100 }, (_, index) =>
    change(`C${index}_${'X'.repeat(59)}`.slice(0, 64), true, index + 1),
  );
  const [, line = ''] = told({ changes, reason: '&'.repeat(500), tenant: { id: 't'.repeat(255) } });
  // Slack cuts a text off at 40,000 characters.
  assert.ok(line.length < 40_000, `${line.length}`);
  assert.ok(line.endsWith('&amp;'.repeat(500)));
});

const ROOT = join(import.meta.dirname, '../..');
const DOCUMENT = readFileSync(join(ROOT, 'docs/notifications.md'), 'utf8');
const SECRET = `whsec_${Buffer.alloc(32, 3).toString('base64')}`;

function blockOf(language: string): string {
  const block = new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``).exec(DOCUMENT)?.[1];
  return block ?? assert.fail(`the document has a block of ${language}`);
}

test('the receiver of the documentation makes annotations of events, and of nothing else', async (t) => {
  const grafana = await openReceiver(t, (response) => void response.end('{"message":"Annotation added","id":1}'));
  const receiver = spawn(process.execPath, ['--input-type=module', '-e', blockOf('js')], {
    cwd: ROOT,
    env: { ...process.env, WEBHOOK_SECRET: SECRET, GRAFANA_URL: grafana.url, GRAFANA_TOKEN: 'glsa_token', PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => receiver.kill());
  const [line] = await once(receiver.stdout.setEncoding('utf8'), 'data');
  const url = /http:\S+/.exec(line)?.[0] ?? assert.fail(line);

  const forged = await fetch(url, { method: 'POST', body: '{"type":"rdcp.change"}' });
  assert.equal(forged.status, 401);

  const notifier = createNotifier({
    webhooks: [{ url, secret: SECRET }],
    source: () => ({ service: 'shop', host: 'web-1', pid: 7 }),
    clock: { now: Date.now },
    delay: virtualTime().delay,
    conditions: recordConditions(),
    reporter: { warn: (message) => assert.fail(message) },
    count: () => {},
    report: assert.ifError,
  });
  notifier.failed({ category: 'DATABASE', lines: 2, workId: '5a8f01c2', outcome: 'GET / 500 after 90 ms' });
  const [entry] = chain('i-1', 1, undefined, () => ({
    changes: [
      {
        category: 'DATABASE',
        previousState: false,
        newState: true,
        temporary: true,
        effectiveAt: '2026-01-01T00:00:00.000Z',
        expiresAt: '2026-01-01T00:05:00.000Z',
      },
    ],
  }));
  assert.ok(entry);
  notifier.recorded(entry);
  await notifier.close();
  const { path, headers, body } = grafana.received[0] ?? assert.fail('Grafana got nothing');
  assert.deepEqual([path, headers.authorization], ['/api/annotations', 'Bearer glsa_token']);
  assert.deepEqual(JSON.parse(body), {
    time: Date.parse(entry.timestamp),
    timeEnd: Date.UTC(2026, 0, 1, 0, 5),
    tags: ['rdcp.change', 'shop', 'DATABASE'],
    text: `enable DATABASE by ops: ${entry.reason}`,
  });
});

test('the annotation query of the documentation asks for attributes that log records have', () => {
  const [entry] = chain('i-1', 1);
  assert.ok(entry);
  const { attributes } = auditRecord(entry);
  const inLoki = Object.keys(attributes).map((name) => name.replaceAll('.', '_'));
  const asked = [...blockOf('logql').matchAll(/\b(rdcp_\w+)/g)].map(([, name]) => name);
  assert.deepEqual(asked, ['rdcp_audit_id', 'rdcp_outcome', 'rdcp_action']);
  for (const name of asked) assert.ok(inLoki.includes(name ?? ''), name);
});
