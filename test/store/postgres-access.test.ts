import assert from 'node:assert/strict';
import { chownSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createPostgresStore } from '../../src/store/postgres/store.ts';
import { createAuthority, writePems } from '../support/certificate.ts';
import { fleetOf } from '../support/on-records.ts';
import { postgresFolder, startPostgres, whyNoPostgres } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { change } from './contract/samples.ts';
import { PATIENCE_MS } from './follower.ts';

const skip = whyNoPostgres();

/** Where a server finds its certificate and key, which its user alone may read. */
function serverFiles({ cert, key }: { readonly cert: string; readonly key: string }): readonly string[] {
  const folder = postgresFolder('rdcp-postgres-tls-');
  const { uid, gid } = statSync(folder);
  return Object.entries({ ssl_cert_file: cert, ssl_key_file: key }).map(([setting, pem]) => {
    const file = join(folder, setting);
    writeFileSync(file, pem, { mode: 0o600 });
    chownSync(file, uid, gid);
    return `${setting}=${file}`;
  });
}

test('sslmode says whether the connection is by TLS, and how the certificate is checked', { skip }, async (t) => {
  const authority = createAuthority();
  const { root, other } = writePems({ root: authority.cert, other: createAuthority().cert });
  const server = await startPostgres('ssl=on', ...serverFiles(authority.issue('localhost')));
  t.after(() => server.close());
  const plain = await startPostgres();
  t.after(() => plain.close());
  /** Whether a store's connection is by TLS. */
  const isByTls = async (url: string, parameters: string) => {
    const store = createPostgresStore({ url: `${url}?${parameters}`, deadlineMs: PATIENCE_MS });
    try {
      await store.check();
      const to = url === plain.url ? plain : server;
      const its = "application_name = 'opentelemetry-instrumentation-rdcp'";
      return to.sql(`SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ${its}`) === 't';
    } finally {
      await store.close();
    }
  };
  assert.equal(await isByTls(server.url, ''), false);
  assert.equal(await isByTls(server.url, 'sslmode=no-verify'), true);
  assert.equal(await isByTls(server.url, `sslmode=verify-full&sslrootcert=${root}`), true);
  await assert.rejects(isByTls(server.url, `sslmode=verify-full&sslrootcert=${other}`));
  await assert.rejects(isByTls(plain.url, 'sslmode=verify-full'));
});

test('a user with the documented permissions alone does all that a store does', { skip }, async (t) => {
  const server = await startPostgres();
  t.after(() => server.close());
  const owned = createPostgresStore({ url: server.url, deadlineMs: PATIENCE_MS });
  await owned.check();
  await owned.close();
  server.sql(`CREATE ROLE service LOGIN PASSWORD 'one'; GRANT USAGE ON SCHEMA rdcp TO service;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA rdcp TO service`);
  const store = createPostgresStore({
    url: server.url.replace(/\/\/.*@/, '//service:one@'),
    deadlineMs: PATIENCE_MS,
  });
  try {
    await store.check();
    await store.load();
    assert.ok(await store.commit(change('acme', 0, { A: { permanent: true } })));
    assert.equal((await store.load()).get('acme')?.revision, 1);
    await fleetOf(store).announce({ id: 'a', host: 'h', pid: 1, service: 's', startedAt: 0 }, undefined);
    assert.equal((await fleetOf(store).look())?.instances.length, 1);
    await store.pruneAudit(Date.now());
  } finally {
    await store.close();
  }
});

test('a schema that another role made first is not used, unless that role is named as owner', { skip }, async (t) => {
  const server = await startPostgres();
  t.after(() => server.close());
  server.sql(`CREATE ROLE service LOGIN PASSWORD 'one'; CREATE ROLE stranger;
    GRANT CREATE ON DATABASE postgres TO service, stranger; CREATE TABLE public.ran (by text);
    GRANT INSERT ON public.ran TO PUBLIC; SET ROLE stranger; CREATE SCHEMA rdcp;
    CREATE TABLE rdcp.schema_version AS SELECT 1 AS version;
    CREATE FUNCTION rdcp.clock() RETURNS bigint LANGUAGE sql AS 'INSERT INTO public.ran VALUES (current_user) RETURNING 1';
    GRANT ALL ON SCHEMA rdcp TO service; GRANT ALL ON ALL TABLES IN SCHEMA rdcp TO service`);
  const url = server.url.replace(/\/\/.*@/, '//service:one@');
  const checked = async (parameters: string) => {
    const store = createPostgresStore({ url: url + parameters, deadlineMs: PATIENCE_MS });
    try {
      await store.check();
      await fleetOf(store).look();
    } finally {
      await store.close();
    }
  };
  await assert.rejects(
    checked(''),
    /schema rdcp, or something in it, belongs to the role stranger: .* name it as owner/,
  );
  assert.equal(server.sql('SELECT count(*) FROM public.ran'), '0');
  await checked('?schema=mine');
  server.sql(
    'CREATE OR REPLACE FUNCTION mine.extra() RETURNS int LANGUAGE sql AS $$SELECT 1$$; ALTER FUNCTION mine.extra() OWNER TO stranger',
  );
  await assert.rejects(checked('?schema=mine'), /belongs to the role stranger/);
  await checked('?schema=mine&owner=stranger');
});

test('a flood of notifications by a role that may only log in takes no memory, and messages arrive after it', {
  skip,
}, async (t) => {
  const server = await startPostgres();
  t.after(() => server.close());
  const [one, other] = [1, 2].map(() => createPostgresStore({ url: server.url, deadlineMs: PATIENCE_MS }));
  t.after(() => Promise.all([one?.close(), other?.close()]));
  const heard: string[] = [];
  other!.messages!.onMessage((text) => void heard.push(text));
  for (const store of [one!, other!]) await store.load();
  server.sql('CREATE ROLE guest LOGIN');
  const before = process.memoryUsage().heapUsed;
  server.sql(
    `SET ROLE guest; DO 'BEGIN FOR n IN 1..300000 LOOP PERFORM pg_notify(''rdcp:messages'', n::text); END LOOP; END'`,
  );
  await until('a message after the flood', async () => {
    await one!.messages!.send('after');
    return heard.includes('after');
  });
  const grown = process.memoryUsage().heapUsed - before;
  assert.ok(grown < 64 * 2 ** 20, `${Math.round(grown / 2 ** 20)} MiB`);
});
