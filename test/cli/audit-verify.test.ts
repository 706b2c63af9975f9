import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { createRedisStore } from '../../src/store/redis/store.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import { chain } from '../audit/entries.ts';
import { PATIENCE_MS } from '../store/follower.ts';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { newFolder } from '../support/folder.ts';
import { KEYS, startServer } from '../support/server.ts';
import { inFull } from '../support/tiers.ts';
import { rdcp, saying } from './run.ts';
import { assertFault, assertWhole, find, resealed, verifyFile } from './stored-trail.ts';

const says = saying(rdcp);
const NOW = Date.parse('2026-03-01T12:00:00.000Z');

/** A trail of two processes in a SQLite file: `a` wrote six entries, `b` began at the third of them and wrote four. */
function twoProcesses(): AuditEntry[] {
  const a = chain('a', 6);
  const b = chain('b', 4, a[2]?.compliance.hash);
  return [...a.slice(0, 3), ...b.slice(0, 2), ...a.slice(3, 5), ...b.slice(2), ...a.slice(5)] as AuditEntry[];
}

const without = (entries: readonly AuditEntry[], instanceId: string, ...sequences: number[]) =>
  entries.filter((entry) => !sequences.some((sequence) => entry === find(entries, instanceId, sequence)));
const checkpointOf = ({ compliance: { instanceId, sequence, hash } }: AuditEntry) =>
  `${instanceId}:${sequence}:${hash}`;

const tampered: Record<string, [change: (entries: AuditEntry[]) => AuditEntry[], fault: RegExp]> = {
  'a field that was changed': [
    (entries) => entries.map((entry) => (entry === find(entries, 'a', 4) ? { ...entry, outcome: 'failed' } : entry)),
    /entry 4 of process a \(a-4, .*\): its content does not match its hash/,
  ],
  'an entry that was taken out': [
    (entries) => without(entries, 'b', 2),
    /entry 3 of process b \(b-3, .*\): entry 2 of its chain should stand before it/,
  ],
  'the first entry, taken out': [
    (entries) => without(entries, 'a', 1),
    /entry 2 of process a \(a-2, .*\): the entries before it are missing, and no entry says that retention/,
  ],
  'a chain resealed from an entry on that another process began at': [
    (entries) => resealed(entries, 'a', 2),
    /entry 1 of process b \(b-1, .*\): the entry that its chain begins at is missing/,
  ],
  'an entry that stands twice': [
    (entries) => entries.flatMap((entry) => (entry === find(entries, 'a', 3) ? [entry, entry] : entry)),
    /entry 3 of process a \(a-3, .*\): entry 2 of its chain should stand before it/,
  ],
};
for (const [what, [change, fault]] of Object.entries(tampered)) {
  test(`${what} is found, and the first bad entry named`, (t) => assertFault(t, change(twoProcesses()), fault));
}

const HASH = /entry 1 of process b \(b-1, .*\): its content does not match its hash/;
const spoiled: Record<string, [sql: string, fault: RegExp]> = {
  'the outcome that it is found by': ["UPDATE audit SET outcome = 'denied' WHERE position = 4", HASH],
  'the categories that it is found by': ['DELETE FROM audit_category WHERE position = 4', HASH],
  'its place in the chain': [
    "UPDATE audit SET entry = json_set(entry, '$.compliance', NULL) WHERE position = 4",
    /entry 0 of process unknown \(b-1, .*\): its content does not match its hash/,
  ],
  'the one meaning that it had, because a member is named twice, once in other letters': [
    `UPDATE audit SET entry = replace(entry, '"userId":', '"user\\u0049d":"nobody","userId":') WHERE position = 4`,
    HASH,
  ],
  'all that it says': [
    "UPDATE audit SET entry = 'nothing' WHERE position = 4",
    /entry 0 of process unknown \(position-4, .*\): its content does not match its hash/,
  ],
};
for (const [what, [sql, fault]] of Object.entries(spoiled)) {
  test(`an entry of a SQLite file that lost ${what} is named`, (t) => assertFault(t, twoProcesses(), fault, [], sql));
}

test('of several faults the one that was written first is named, and all are counted', (t) => {
  const entries = twoProcesses().map((entry) =>
    ['a-2', 'b-4', 'a-6'].includes(entry.id) ? { ...entry, reason: 'other' } : entry,
  );
  return assertFault(t, entries, /First fault: entry 2 of process a .*\n3 faults in total\.\n/);
});

test('an end that was cut off or resealed looks whole, but a kept checkpoint reveals it', async (t) => {
  const entries = twoProcesses();
  const kept = (instanceId: string, sequence: number) => [
    '--checkpoint',
    checkpointOf(find(entries, instanceId, sequence)),
  ];
  for (const [left, checkpoint, fault] of [
    [without(entries, 'a', 5, 6), kept('a', 6), /Deleted: entries of process a after entry 4; .* up to entry 6\.\n$/],
    [without(entries, 'b', 1, 2, 3, 4), kept('b', 4), /Deleted: all entries of process b; .* up to entry 4\.\n$/],
    [resealed(entries, 'a', 4), kept('a', 5), /entry 5 of process a .*: it does not match its checkpoint/],
  ] as const) {
    await assertWhole(t, left);
    await assertFault(t, left, fault, checkpoint);
  }
});

test('a job that saves checkpoints and reads them the next time finds what was cut off in between', async (t) => {
  const file = join(newFolder(t), 'checkpoints');
  const entries = twoProcesses();
  const options = ['--checkpoints', file, '--save-checkpoints', file];
  await assertWhole(t, entries, options);
  assert.deepEqual(readFileSync(file, 'utf8').trim().split('\n').toSorted(), [
    `${checkpointOf(find(entries, 'a', 6))}:${find(entries, 'a', 6).compliance.retainUntil}`,
    `${checkpointOf(find(entries, 'b', 4))}:${find(entries, 'b', 4).compliance.retainUntil}`,
  ]);
  await assertFault(t, entries.slice(0, -1), /Deleted: /, options);
  assert.match(readFileSync(file, 'utf8'), /^a:6:/m, 'what is not whole is not saved');
});

test('a malformed checkpoint is named by its option, and by its line in a file', async (t) => {
  const entries = twoProcesses();
  const file = join(newFolder(t), 'checkpoints');
  writeFileSync(file, `${checkpointOf(find(entries, 'a', 6))}\n\na:5\n`);
  const wrong = 'must be INSTANCE:SEQUENCE:HASH or INSTANCE:SEQUENCE:HASH:RETAIN_UNTIL\n';
  assert.equal((await verifyFile(t, entries, ['--checkpoint', 'a:5'])).stderr, `rdcp: --checkpoint ${wrong}`);
  const { code, stderr } = await verifyFile(t, entries, ['--checkpoints', file]);
  assert.deepEqual([code, stderr], [2, `rdcp: --checkpoints: line 3 of ${file} ${wrong}`]);
});

test('without checkpoints the output and its JSON say what was not checked', async (t) => {
  const { stdout, stderr } = await assertWhole(t, twoProcesses());
  assert.equal(stdout, 'The trail is whole: 10 entries of 2 processes.\n');
  assert.match(
    stderr,
    /^Not checked: entries deleted, added or rewritten at the end of a process's chain, and processes whose entries were all deleted/,
  );
  const json = JSON.parse((await verifyFile(t, twoProcesses(), ['--json'])).stdout);
  assert.match(json.unchecked[0], /^entries deleted/);
});

test('of a trail that a prune shortened the oldest entries that are left are missed', async (t) => {
  const a = chain('a', 5);
  const { sequence, hash, instanceId, retainUntil } = find(a, 'a', 3).compliance;
  const dropped = { until: '2026-01-01T00:00:00.000Z', chains: [{ instanceId, sequence, hash }] };
  const b = chain('b', 1, a[4]?.compliance.hash, () => ({ action: 'prune', dropped }));
  const { stdout } = await assertWhole(t, [...a.slice(3), ...b]);
  assert.equal(
    stdout,
    'The trail is whole: 3 entries of 2 processes; older entries were dropped when their retention ended.\n',
  );
  const missed =
    /entry 5 of process a .*: the entries before it are missing, and retention dropped no more than entry 3/;
  await assertFault(t, [...a.slice(4), ...b], missed);
  const checkpoint = ['--checkpoint', `a:3:${hash}:${retainUntil}`];
  const kept = /Missing: entry 3 of process a; retention did not drop it\.\n$/;
  await assertFault(t, [...a.slice(3), ...b], kept, checkpoint);
});

test('what was dropped earlier is no excuse for an entry that was there later', async (t) => {
  const { instanceId, sequence, hash } = find(chain('a', 2), 'a', 2).compliance;
  const dropped = { until: '2026-01-01T00:00:00.000Z', chains: [{ instanceId, sequence, hash }] };
  const a = chain('a', 6, '0'.repeat(64), (at) => (at === 4 ? { action: 'prune', dropped } : {}));
  const b = chain('b', 2, a[5]?.compliance.hash);
  await assertFault(
    t,
    [...a.slice(2, 5), ...b],
    /entry 1 of process b .*: the entry that its chain begins at is missing/,
  );
  const gone = checkpointOf(find(b, 'b', 2));
  // It may have been dropped as a whole.
  for (const until of ['', ':2026-01-01T00:00:00.000Z'])
    await assertWhole(t, a.slice(2), ['--checkpoint', gone + until]);
  const retained = ['--checkpoint', `${gone}:${a[5]?.compliance.retainUntil}`];
  await assertFault(t, a.slice(2), /Deleted: all entries of process b; it had written up to entry 2/, retained);
});

inFull('a long trail is walked page by page', async (t) => {
  const entries = chain('a', 2500);
  const whole = await verifyFile(t, entries, ['--json']);
  assert.equal(JSON.parse(whole.stdout).entries, 2500);
  const broken = await verifyFile(t, without(entries, 'a', 1200), ['--json']);
  const { whole: isWhole, faults, first } = JSON.parse(broken.stdout);
  assert.deepEqual([isWhole, faults, first.entry.id, first.problem], [false, 1, 'a-1201', 'sequence']);
});

test('a running service is verified through its endpoint', async (t) => {
  const server = await startServer(t);
  for (const action of ['enable', 'disable', 'toggle']) {
    const body = { action, categories: 'DATABASE' };
    await server.request('/rdcp/v1/control', { method: 'POST', key: 'admin', body });
  }
  const env = { RDCP_API_KEY: KEYS.admin };
  await says(`audit verify --url ${server.url}`, 'The trail is whole: 3 entries of 1 process.\n', { env });
});

test('a trail in Redis is verified where it lies', { skip: whyNoRedis() }, async (t) => {
  const redis = await startRedis();
  t.after(() => redis.close());
  const store = createRedisStore({ url: redis.url, deadlineMs: PATIENCE_MS });
  const [first, second] = chain('a', 2);
  for (const audit of [first, second]) await store.commit({ audit: audit as AuditEntry, now: NOW });
  await says(`audit verify --store ${redis.url}`, 'The trail is whole: 2 entries of 1 process.\n');
  await store.commit({ audit: second as AuditEntry, now: NOW });
  await store.close();
  await says(`audit verify --store ${redis.url}`, undefined, { code: 1, err: '' });
  await redis.kill();
  await says(`audit verify --store ${redis.url}`, '', { code: 1 });
});

test('a database of something else is refused', async (t) => {
  const file = join(newFolder(t), 'foreign.db');
  new DatabaseSync(file).exec('CREATE TABLE other (id INTEGER)');
  await says(`audit verify --store sqlite:${file}`, '', { code: 1, err: /^rdcp: [^\n]+\n$/ });
});
