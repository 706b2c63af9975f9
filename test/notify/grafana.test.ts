import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { auditRecord } from '../../src/trail/log-record.ts';
import { createNotifier } from '../../src/trail/notify/notifier.ts';
import { chain } from '../audit/entries.ts';
import { recordConditions } from '../support/conditions.ts';
import { virtualTime } from '../support/virtual-time.ts';
import { openReceiver } from './receiver.ts';

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
