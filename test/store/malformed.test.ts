import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { createClient } from 'redis';
import { createRedisStore } from '../../src/store/redis/store.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import fc from '../support/fast-check.ts';
import { newFolder } from '../support/folder.ts';
import { fleetOf, tokensOf } from '../support/on-records.ts';
import { startFleet } from '../tail/fleet.ts';
import { auditEntry, change, NOW, replayRecord } from './contract/samples.ts';
import { startRedis, whyNoRedis } from './redis-server.ts';
import { tamper } from './tamper.ts';

/** Parsed by JSON.parse, and too deep for JSON.stringify. */
const DEEP = `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;

/** What a program that may write the store, or another release of ours, may leave where JSON should be. */
const text = fc.oneof(
  fc.constantFrom(
    '',
    'null',
    '{}',
    '[null]',
    '[[]]',
    '{"settings":[["DATABASE"]]}',
    '{"settings":[["DATABASE",null]]}',
    '{"settings":[["DATABASE",{"temporary":{"enabled":true,"expiresAt":1e400}}]]}',
    '{"settings":[["DATABASE",{"temporary":{"enabled":1,"expiresAt":1}}]]}',
    '{"settings":[["DATABASE",{"permanent":"yes","by":{"at":-1e400}}]]}',
    '{"settings":[["a\\nb",{"permanent":true}],["__proto__",{"permanent":true}]]}',
    '{"host":1,"pid":1e400,"service":null,"startedAt":"now"}',
    DEEP,
    `{"settings":[["DATABASE",${DEEP}]]}`,
    '{"settings":[],"activations":[null,{},{"id":1,"categories":["DATABASE"]}]}',
    '{"settings":[],"activations":[{"id":"a","categories":["DATABASE"],"expiresAt":1e400,"maskKey":"k"}]}',
    '{"settings":[],"activations":[{"id":"a","categories":["a b"],"expiresAt":1,"maskKey":"k","target":{"match":{}}}]}',
    `{"settings":[],"activations":[{"id":"a","categories":["DATABASE"],"expiresAt":1,"maskKey":"k","target":${DEEP}}]}`,
    '{"id":1e400,"compliance":{"sequence":1e400}}',
  ),
  fc.json(),
  fc.string({ unit: 'binary' }).map((value) => value.replaceAll('\0', '')),
);

const whole = fc.oneof(
  fc.constantFrom(0n, -1n, 2n ** 53n, -(2n ** 63n), 2n ** 62n),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 62n }),
);

/** Asks a store for everything that it holds, and writes to it. */
async function exercise(store: StateStore): Promise<void> {
  for (const [, { revision, settings, changedAt = 0 }] of await store.load()) {
    assert.ok(Number.isSafeInteger(revision) && revision >= 0, `revision ${revision}`);
    assert.ok(Number.isFinite(changedAt), `changed at ${changedAt}`);
    for (const [name, { temporary }] of settings) {
      assert.match(name, /^[A-Z]/);
      assert.ok(temporary === undefined || Number.isFinite(temporary.expiresAt));
    }
  }
  await store.findReplay('console request-1', NOW);
  await tokensOf(store).find('session', NOW);
  await tokensOf(store).rotate({ id: 'session', expected: 'a', next: 'b', now: NOW, revokedUntil: NOW });
  for (const { until } of (await tokensOf(store).revocations(0, NOW)).revoked) assert.ok(Number.isFinite(until));
  for (const { pid, silentFor, applied } of (await fleetOf(store).look()).instances) {
    assert.ok(Number.isSafeInteger(pid) && Number.isFinite(silentFor));
    assert.ok(applied === undefined || Number.isSafeInteger(applied.revision));
  }
  await store.newestAudit();
  await store.queryAudit({ limit: 10, since: 0 });
  await store.pruneAudit(NOW);
  for (let attempt = 0, expected = 0; ; attempt += 1) {
    const result = await store.commit(change('acme', expected, { DATABASE: { permanent: true } }));
    if (result.outcome === 'committed') break;
    assert.ok(result.outcome === 'conflict' && attempt === 0, result.outcome);
    expected = result.current.revision;
  }
  const { settings } = (await store.load()).get('acme')!;
  assert.deepEqual([...settings], [['DATABASE', { permanent: true }]]);
}

async function seed(store: StateStore): Promise<void> {
  await store.load();
  await store.commit(change('acme', 0, { DATABASE: { permanent: true } }, { replay: replayRecord() }));
  await tokensOf(store).begin({ id: 'session', current: 'a', data: '{}', expiresAt: NOW + 60_000 }, NOW);
  await tokensOf(store).revoke('other', NOW + 60_000, NOW);
  await fleetOf(store).announce({ id: 'one', host: 'host', pid: 1, service: 'shop', startedAt: NOW }, undefined);
}

function temporaryFile(t: TestContext): string {
  const folder = newFolder(t);
  return join(folder, 'state.sqlite');
}

test('a SQLite store stays usable whatever stands in its cells', async (t) => {
  const file = temporaryFile(t);
  const store = createSqliteStore(file, { lasting: false });
  t.after(() => store.close());
  await seed(store);
  let malformed = 0;
  store.onMalformed?.(() => (malformed += 1));
  const database = new DatabaseSync(file);
  t.after(() => database.close());
  const writes = [
    database.prepare(`UPDATE scope SET settings = ?1, revision = ?2, changed_at = ?2 WHERE key = 'acme'`),
    database.prepare('UPDATE replay SET response = ?1, fingerprint = ?1, expires_at = ?2'),
    ...['session', 'beat', 'member'].map((kind) =>
      database.prepare(`UPDATE record SET value = ?1, expires_at = ?2, written_at = ?2 WHERE kind = '${kind}'`),
    ),
    database.prepare(`UPDATE OR IGNORE record SET expires_at = ?2, key = ?1 WHERE kind = 'revocation'`),
    database.prepare(
      `INSERT INTO audit (at, action, outcome, retain_until, entry) VALUES (?2, 'enable', 'success', ?2, ?1)`,
    ),
    database.prepare(
      `INSERT OR REPLACE INTO message (position, sender, sent_at, body) VALUES (max(1, abs(?2 / 2)), 'x', ?2, ?1)`,
    ),
  ];
  await fc.assert(
    fc.asyncProperty(text, whole, fc.nat(writes.length - 1), async (json, number, which) => {
      writes[which]!.run(json, number);
      await exercise(store);
    }),
    { numRuns: 150 },
  );
  assert.ok(malformed > 0);
});

test('a Redis store stays usable whatever its keys hold', { skip: whyNoRedis() }, async (t) => {
  const redis = await startRedis();
  t.after(() => redis.close());
  const store = createRedisStore({ url: redis.url });
  t.after(() => store.close());
  await seed(store);
  let malformed = 0;
  store.onMalformed?.(() => (malformed += 1));
  const client = createClient({ url: redis.url });
  // The server ends before the client does.
  client.on('error', () => {});
  await client.connect();
  t.after(() => client.destroy());
  const key = (name: string) => `{rdcp}:${name}`;
  const far = String(NOW + 1e12);
  const values = fc.oneof(
    text,
    fc.tuple(whole, whole, text).map(([a, b, json]) => `${a} ${b} writer-1\n${json}`),
    fc.tuple(whole, text).map(([a, json]) => `${a}\n${json}`),
    text.map((json) => `1e400 1e400\n${json}`),
    text.map((json) => `${Date.now()} epoch 1e400\n${json}`),
    text.map((json) => `${far}\n${json}\n${json}`),
  );
  const writes: ((value: string) => Promise<unknown>)[] = [
    async (value) => {
      await client.hSet(key('scopes'), 'acme', value);
      await client.zAdd(key('changes'), { score: Number(await client.hGet(key('meta'), 'version')), value: 'acme' });
    },
    (value) => client.set(key('member:one'), `${far}\n${value}`),
    (value) => client.hSet(key('beat'), 'one', `${far}\n3500 ${value}`),
    async (value) => {
      await client.hSet(key('beat'), 'two', value);
      await client.zAdd(key('beats'), { score: Date.now() * 1000, value: 'two' });
    },
    (value) => client.set(key('replay:console request-1'), value),
    (value) => client.set(key('session:session'), value),
    (value) => client.hSet(key('until'), 'other', value),
    (value) => client.xAdd(key('audit'), '*', { entry: value }),
    (value) => client.publish(key('changed'), value),
    (value) => client.publish(key('messages'), value),
  ];
  await fc.assert(
    fc.asyncProperty(values, fc.nat(writes.length - 1), async (value, which) => {
      await writes[which]!(value);
      await exercise(store);
      // The kept answer of a request id, malformed or not, belongs to whoever asked first.
      const { outcome } = await store.commit({ audit: auditEntry(), replay: replayRecord(), now: NOW });
      assert.ok(['committed', 'replayed'].includes(outcome));
      await client.del(key('replay:console request-1'));
    }),
    { numRuns: 150 },
  );
  assert.ok(malformed > 0);
});

test('a control that ends at 1e400 is ignored: the service answers, and health says it', async (t) => {
  const file = temporaryFile(t);
  const store = createSqliteStore(file);
  await store.commit(change('*', 0, { NET: { permanent: true }, DATABASE: { permanent: true } }));
  await store.close();
  tamper(
    file,
    `UPDATE scope SET settings = '{"settings":[["NET",{"permanent":true}],["DATABASE",{"temporary":{"enabled":true,"expiresAt":1e400}}]]}'`,
  );
  const [member] = await startFleet(t, `sqlite:${file}`, 1);
  const health = await member!.client.health();
  assert.equal(health.status, 'degraded');
  assert.match(JSON.stringify(health.checks), /the store holds a malformed setting/);
  assert.equal((await member!.client.enable('DATABASE', { temporary: false })).status, 'success');
  const { categories } = await member!.client.status();
  assert.deepEqual(categories, { DATABASE: true });
});
