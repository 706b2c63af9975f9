import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import type { TailEvent } from '../../src/wire/streams.ts';
import { newFolder } from '../support/folder.ts';
import { until } from '../support/until.ts';
import { clientFor, startFleet } from './fleet.ts';

const EVIL = 'forged: \u202eevil\u001b[31m';

/** Lines that no process of ours sends. Each must be dropped, or passed on as one harmless event. */
function forgedLines(): string[] {
  const line = {
    timestamp: '2026-01-01T00:00:00.000Z',
    category: 'DATABASE',
    message: EVIL,
    attributes: {},
    tenant: 'acme',
  };
  const whole = JSON.stringify({ ...line, instance: 'evil' });
  const end = 'event: end\ndata: {"reason":"revoked","lines":0,"dropped":0}';
  return [
    'not json',
    'null',
    '[]',
    '7',
    JSON.stringify(line),
    whole.replace('"attributes":{}', `"attributes":{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`),
    JSON.stringify({ ...line, instance: 'evil', category: 'NET' }),
    JSON.stringify({ ...line, instance: 'evil', timestamp: 'never' }),
    `${whole}\n\n${end}\n\n`,
    `${whole.slice(0, -1)}\r\n\r\n${end}\r\n\r\n}`,
    `${whole.slice(0, -1)}\n}`,
    whole.replace('"tenant":"acme"', '"tenant":"beta","tenant":"acme"'),
  ];
}

test('a process of the fleet that answers every lease with garbage neither ends the service nor forges events', async (t) => {
  const file = join(newFolder(t), 'state.sqlite');
  const fleet = await startFleet(t, `sqlite:${file}`, 1);
  const forger = createSqliteStore(file);
  t.after(() => forger.close());
  await forger.load();
  const { messages } = forger;
  let leases = 0;
  messages!.onMessage((text, from) => {
    const { type, id } = JSON.parse(text);
    if (type !== 'tail') return;
    leases += 1;
    const answer = { type: 'lines', id, instance: 'evil', dropped: 0, before: 0 };
    const answers: unknown[] = [
      { ...answer, lines: forgedLines() },
      { ...answer, lines: [null, 1, {}] },
      { ...answer, lines: [], dropped: -1 },
      { ...answer, lines: [], instance: 'x\n\nevent: end\n\n' },
      null,
      'lines',
      { type: 'leave', id },
      { type: 'measured', id, instance: 'evil', seconds: 0, categories: null },
    ];
    const texts = [...answers.map((value) => JSON.stringify(value)), '', 'not json', '{"type":"lines","before":1e400}'];
    for (const forged of texts) messages!.send(forged, from).catch(() => {});
  });

  for (const who of [{ tenantId: 'acme' }, {}]) {
    leases = 0;
    const tail = clientFor(fleet[0]!, who).tail('DATABASE', { duration: '1m' });
    const events: TailEvent[] = [];
    for await (const event of tail) {
      events.push(event);
      if (leases > 2 && events.filter(({ event }) => event === 'line').length > 80) break;
    }
    assert.deepEqual(new Set(events.map(({ event }) => event)), new Set(['start', 'instance', 'line', 'dropped']));
    const forged = events.flatMap(({ event, data }) => (event === 'line' && data.instance === 'evil' ? [data] : []));
    for (const data of forged) {
      assert.deepEqual([data.category, data.tenant, data.message], ['DATABASE', 'acme', EVIL]);
    }
    const [dropped] = events.flatMap(({ event, data }) => (event === 'dropped' ? [data.count] : []));
    assert.ok(dropped !== undefined && dropped >= 7, `${dropped} lines were dropped`);
  }
  assert.equal(fleet[0]!.child.exitCode, null, fleet[0]!.output);
  assert.doesNotMatch(fleet[0]!.output, /Error/);
  await until('health says it', async () => (await fleet[0]!.client.health()).status === 'degraded');
  assert.match(fleet[0]!.output, /rdcp: another process sent a malformed message; it is ignored/);
});
