import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { renameSync, rmSync } from 'node:fs';
import { connect as connectSocket, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import pg from 'pg';
import { createPostgresStore } from '../../src/store/postgres/store.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import { fleetOf, tokensOf } from '../support/on-records.ts';
import { type PostgresServer, startPostgres, whyNoPostgres } from '../support/postgres.ts';
import { auditEntry, auditIds, change, committedRevision, NOW, replayRecord, until } from './contract/samples.ts';
import { CONVERGED_MS, eventually, type Follower, follow, rejectsSoon, soon } from './follower.ts';
import { eventuallyRejects, survivesItsServer } from './server-faults.ts';

describe('the PostgreSQL store', { skip: whyNoPostgres() }, () => {
  let server: PostgresServer;
  let schema: string;
  let opened: StateStore[];

  before(async () => {
    server = await startPostgres();
  });
  after(() => server.close());
  beforeEach(() => {
    schema = `s${randomBytes(8).toString('hex')}`;
    opened = [];
  });
  afterEach(async () => {
    for (const store of opened) await store.close();
    server.thaw();
  });

  function openStore(options: { readonly url?: string; readonly deadlineMs?: number } = {}): StateStore {
    const store = createPostgresStore({ url: server.url, schema, ...options });
    opened.push(store);
    return store;
  }

  const open = (url = server.url): Promise<Follower> => follow(openStore({ url }));

  survivesItsServer({
    server: () => server,
    save: () => {},
    lose: async () => void server.sql(`DROP SCHEMA ${schema} CASCADE`),
    async backUp() {
      const data = join(server.folder, 'data');
      await server.kill();
      // With its owner, who is not the test's.
      assert.equal(spawnSync('cp', ['-a', data, `${data}.old`]).status, 0);
      await server.start();
      return async () => {
        await server.kill();
        rmSync(data, { recursive: true });
        renameSync(`${data}.old`, data);
        await server.start();
      };
    },
    open: openStore,
    program: (deadlineMs) => `createPostgresStore(${JSON.stringify({ url: server.url, schema, deadlineMs })})`,
  });

  for (const where of ['before the server had it', 'before its answer arrived'] as const) {
    test(`a commit whose connection broke ${where} is made once, and is answered`, async (t) => {
      const proxy = await startBreakingProxy(server.port, where);
      t.after(() => proxy.close());
      const { store } = await open(server.url.replace(`:${server.port}/`, `:${proxy.port}/`));
      const observer = await open();
      await store.commit(change('acme', 0, {}));
      proxy.breakNext();
      const replay = replayRecord();
      const result = await store.commit(change('acme', 1, { A: { permanent: true } }, { replay }));
      assert.equal(proxy.broken, 1);
      assert.equal(committedRevision(result), 2);
      assert.deepEqual(result.outcome === 'committed' && result.position?.revision, 2);
      assert.equal((await auditIds(observer.store)).length, 2);
      assert.deepEqual({ ...(await observer.store.findReplay(replay.key, NOW)) }, replay);
      await until(() => observer.heard.get('acme')?.revision === 2, 'the change');
    });
  }

  test('a commit that another session locks out is given up in time, and leaves nothing', async () => {
    const { store } = await open();
    // On a busy machine the server gives up before this process does.
    const patient = openStore({ deadlineMs: 4000 });
    await patient.load();
    await store.commit(change('acme', 0, {}));
    const holder = new pg.Client({ connectionString: server.url });
    await holder.connect();
    await holder.query(`BEGIN; SELECT * FROM ${schema}.history FOR UPDATE`);
    await assert.rejects(soon(store.commit(change('acme', 1, {}))), /refuses writes \((locked by|given up after)/);
    // A lock of the whole table also stops what waits for no row.
    await holder.query(`LOCK TABLE ${schema}.audit`);
    await assert.rejects(patient.queryAudit({ limit: 1 }), /refuses writes \(given up after statement_timeout/);
    await holder.query('ROLLBACK');
    await holder.end();
    assert.equal(committedRevision(await store.commit(change('acme', 1, {}))), 2);
    assert.equal((await auditIds(store)).length, 2);
  });

  test('commits that a serializable database refuses are repeated', async () => {
    server.sql('ALTER ROLE postgres SET default_transaction_isolation = serializable');
    const [a, b] = [await open(), await open()];
    server.sql('ALTER ROLE postgres RESET default_transaction_isolation');
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? a : b).store.commit({ audit: auditEntry(), now: NOW }),
      ),
    );
    assert.ok(results.every(({ outcome }) => outcome === 'committed'));
    assert.equal((await auditIds(a.store)).length, 20);
  });

  test('another change in the place of a lost one is noticed, although the count is the same', async () => {
    const { store, resets } = await open();
    await store.commit(change('acme', 0, {}));
    await until(() => fleetOf(store).position()?.revision === 1, 'the change');
    server.sql(`UPDATE ${schema}.audit SET id = 'another'; UPDATE ${schema}.history SET head = 'another'`);
    await until(() => resets.length > 0, 'the reset', CONVERGED_MS);
    assert.deepEqual(resets, [{ reason: 'rollback' }]);
  });

  test('a commit on a history that the database lost takes no effect', async () => {
    const { store, resets } = await open();
    await store.commit(change('acme', 0, {}));
    server.sql(`UPDATE ${schema}.history SET id = 'other', version = 0; DELETE FROM ${schema}.scope`);
    await assert.rejects(store.commit(change('other', 0, { A: { permanent: true } })), /lost changes/);
    assert.equal(resets.length, 1);
    assert.equal((await store.load()).size, 0);
  });

  test('a changed password is answered by rejections; with the old one back all is as before', async (t) => {
    server.sql("CREATE ROLE shop LOGIN SUPERUSER PASSWORD 'one'");
    t.after(() => server.sql('DROP OWNED BY shop; DROP ROLE shop'));
    const { store } = await open(server.url.replace(/\/\/.*@/, '//shop:one@'));
    server.sql("ALTER ROLE shop PASSWORD 'two'");
    server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'shop'");
    await rejectsSoon(eventuallyRejects(() => store.check()));
    await eventually(() => assert.rejects(store.check(), /cannot be reached \(the password is wrong\)/));
    server.sql("ALTER ROLE shop PASSWORD 'one'");
    await eventually(() => store.check());
    // The role can be dropped once it has no session.
    await store.close();
  });

  test('a user without permissions is refused, and says what is missing', async (t) => {
    await (await open()).store.check();
    server.sql("CREATE ROLE reader LOGIN PASSWORD 'one'");
    t.after(() => server.sql('DROP OWNED BY reader; DROP ROLE reader'));
    const url = server.url.replace(/\/\/.*@/, '//reader:one@');
    const store = createPostgresStore({ url, schema });
    opened.push(store);
    await assert.rejects(store.load(), /refuses writes \(the user lacks a permission\)/);
    server.sql(`GRANT USAGE ON SCHEMA ${schema} TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO reader`);
    assert.equal((await eventually(() => store.load())).size, 0);
    assert.deepEqual(await store.queryAudit({ limit: 1 }), { entries: [] });
    await assert.rejects(store.check(), /the user lacks a permission/);
  });

  test('the clock of the server may be set: changes go on, and its processes stay in the list', async () => {
    const { store, heard } = await open();
    const other = await open();
    const shift = (hours: number) =>
      server.sql(`CREATE OR REPLACE FUNCTION ${schema}.clock() RETURNS bigint LANGUAGE sql VOLATILE
        AS 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint + ${hours * 3_600_000}'`);
    const instance = { id: 'a', host: 'h', pid: 1, service: 's', startedAt: NOW };
    for (const [index, hours] of [0, 5, -5, 0].entries()) {
      shift(hours);
      // One commit may be refused as late, until the time was read again.
      await eventually(() => other.store.commit(change('acme', index, {})));
      await until(() => heard.get('acme')?.revision === index + 1, 'the change', CONVERGED_MS);
      await fleetOf(store).announce(instance, undefined);
      const { instances } = (await fleetOf(other.store).look()) ?? { instances: [] };
      assert.deepEqual(
        instances.map(({ id, silentFor }) => [id, silentFor < 5000]),
        [['a', true]],
      );
    }
  });

  test('what strangers notify is harmless', async () => {
    const [a, b] = [await open(), await open()];
    const heard: string[] = [];
    a.store.messages?.onMessage((text) => heard.push(text));
    for (const channel of [`${schema}:changed`, `${schema}:messages`]) {
      for (const payload of ['', '9', '99999999999999999999', 'x', 'a 1 2 eHg='])
        server.sql(`NOTIFY "${channel}", '${payload}'`);
    }
    await b.store.commit(change('acme', 0, { B: { permanent: true } }));
    await until(() => a.heard.has('acme'), 'the real change');
    await b.store.messages?.send('real');
    await until(() => heard.length > 0, 'the real message');
    assert.deepEqual(heard, ['real']);
  });

  test('an entry whose columns were altered is returned without a valid hash', async () => {
    const { store } = await open();
    await store.commit({ audit: auditEntry({ tenant: { id: 'acme' } }), now: NOW });
    server.sql(`UPDATE ${schema}.audit SET tenant = 'other'`);
    const [entry] = (await store.queryAudit({ limit: 1, tenant: 'other' })).entries;
    assert.equal(entry?.compliance.hash, '');
    server.sql(`UPDATE ${schema}.audit SET entry = 'x'`);
    assert.match((await store.newestAudit())?.id ?? '', /^position-\d+$/);
  });

  test('an entry of a time that PostgreSQL does not have is kept', async () => {
    const { store } = await open();
    const entry = auditEntry({ retainUntil: Date.UTC(12_000, 0) });
    await store.commit({ audit: entry, now: NOW });
    assert.deepEqual(await store.newestAudit(), entry);
    assert.equal(await store.pruneAudit(NOW), 0);
  });

  test('malformed values are dropped and reported', async () => {
    const { store } = await open();
    const kinds: string[] = [];
    store.onMalformed?.((kind) => kinds.push(kind));
    await store.commit(change('acme', 0, {}, { replay: replayRecord() }));
    await tokensOf(store).begin({ id: 's', current: 'c', data: 'd', expiresAt: NOW + 1000 }, NOW);
    server.sql(`UPDATE ${schema}.scope SET settings = '{'; UPDATE ${schema}.records SET value = '{'`);
    server.sql(`UPDATE ${schema}.replay SET expires_at = '1e300'`);
    assert.equal((await store.load()).get('acme')?.settings.size, 0);
    assert.equal(await tokensOf(store).find('s', NOW), undefined);
    assert.equal(await store.findReplay(replayRecord().key, NOW), undefined);
    const repeated = await store.commit({ audit: auditEntry(), replay: replayRecord(), now: NOW });
    assert.deepEqual(repeated.outcome === 'replayed' && repeated.replay.fingerprint, '');
    assert.deepEqual([...new Set(kinds)].toSorted(), ['answer', 'scope', 'session']);
  });
});

/** A way to the server that breaks at the next commit: before the server gets it, or once it has answered. */
async function startBreakingProxy(target: number, where: 'before the server had it' | 'before its answer arrived') {
  let armed = false;
  let broken = 0;
  const server: Server = createServer((socket) => {
    const onward: Socket = connectSocket(target, '127.0.0.1');
    let breaking = false;
    const end = () => {
      socket.destroy();
      onward.destroy();
    };
    for (const each of [socket, onward]) each.on('error', end).on('close', end);
    socket.on('data', (bytes) => {
      if (armed && bytes.includes('.commit(')) {
        armed = false;
        broken += 1;
        breaking = true;
        if (where === 'before the server had it') return end();
      }
      onward.write(bytes);
    });
    onward.on('data', (bytes) => (breaking ? end() : socket.write(bytes)));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as { port: number }).port,
    breakNext: () => {
      armed = true;
    },
    get broken() {
      return broken;
    },
    close: () => server.close(),
  };
}
