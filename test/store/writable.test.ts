import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { hashApiKey } from '../../src/access/api-key.ts';
import { createRdcp } from '../../src/assembly/rdcp.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import type { HealthResponse } from '../../src/wire/messages.ts';
import { newFolder } from '../support/folder.ts';
import { inFull } from '../support/tiers.ts';
import { until } from '../support/until.ts';
import { startRedis, whyNoRedis } from './redis-server.ts';

// A store that answers reads and refuses writes is not well: nothing can be switched.

const KEY = 'k'.repeat(40);

/** Overall status and that of the store, with its reason, of a service on that store. */
async function serviceOn(t: TestContext, store: string, why = false): Promise<() => Promise<string>> {
  const apiKeys = [{ id: 'key', hash: hashApiKey(KEY), clientId: 'ops', scopes: ['admin' as const] }];
  const rdcp = createRdcp({ server: { port: 0 }, store, security: { apiKeys } });
  t.after(() => rdcp.close());
  const { url } = await rdcp.listen();
  return async () => {
    const response = await fetch(`${url}/rdcp/v1/health`, { headers: { 'X-RDCP-API-Key': KEY } });
    const { status, checks } = (await response.json()) as HealthResponse;
    const check = checks.find(({ name }) => name === 'store');
    const reason = why && check?.otelrdcp_reason !== undefined ? `: ${check.otelrdcp_reason}` : '';
    return `${response.status} ${status} ${check?.status}${reason}`;
  };
}

const becomes = (wanted: string, look: () => Promise<string>) =>
  until(wanted, async () => ((await look()) === wanted ? true : undefined));

describe('health on a Redis', { skip: whyNoRedis(), concurrency: 3 }, () => {
  const changes: Readonly<Record<string, readonly [refuse: readonly string[], heal: readonly string[], code: string]>> =
    {
      'misses its replicas': [
        ['config', 'set', 'min-replicas-to-write', '1'],
        ['config', 'set', 'min-replicas-to-write', '0'],
        'NOREPLICAS',
      ],
      'has no memory left': [['config', 'set', 'maxmemory', '1'], ['config', 'set', 'maxmemory', '0'], 'OOM'],
      'may not append to the trail': [
        ['acl', 'setuser', 'default', '-xadd'],
        ['acl', 'setuser', 'default', '+xadd'],
        'NOPERM',
      ],
      'may not change the state': [
        ['acl', 'setuser', 'default', '-hset'],
        ['acl', 'setuser', 'default', '+hset'],
        'NOPERM',
      ],
      'has become a replica': [['replicaof', '127.0.0.1', '1'], ['replicaof', 'no', 'one'], 'READONLY'],
    };
  for (const [problem, [refuse, heal, code]] of Object.entries(changes)) {
    (problem === 'may not change the state' ? test : inFull)(
      `that ${problem} is degraded, and says why, until writes are taken again`,
      async (t) => {
        const server = await startRedis();
        t.after(() => server.close());
        const look = await serviceOn(t, server.url, true);
        await becomes('200 healthy pass', look);
        server.command(...refuse);
        await becomes(`200 degraded warn: the store refuses writes (${code})`, look);
        server.command(...heal);
        await becomes('200 healthy pass', look);
      },
    );
  }

  test('that cannot save is degraded', async (t) => {
    const server = await startRedis();
    t.after(() => server.close());
    const look = await serviceOn(t, server.url);
    await becomes('200 healthy pass', look);
    const directory = server.command('config', 'get', 'dir').split('\n').at(-1) ?? assert.fail();
    mkdirSync(join(directory, 'dump.rdb'));
    server.command('config', 'set', 'save', '3600 1');
    server.command('bgsave');
    await becomes('200 degraded warn', look);
  });
});

test('health on a SQLite file that another program keeps locked is degraded until the lock is gone', async (t) => {
  const file = join(newFolder(t), 'state.sqlite');
  const look = await serviceOn(t, `sqlite:${file}`);
  await becomes('200 healthy pass', look);
  const holder = new DatabaseSync(file);
  holder.exec('BEGIN IMMEDIATE');
  await becomes('200 degraded warn', look);
  holder.close();
  await becomes('200 healthy pass', look);
});

test('a SQLite file is checked by a write that changes nothing, and one lock that it meets is no failure', async (t) => {
  const file = join(newFolder(t), 'state.sqlite');
  const store = createSqliteStore(file);
  t.after(() => store.close());
  const log = () => statSync(`${file}-wal`).size;
  const before = log();
  await store.check();
  assert.ok(log() > before, 'it was written');
  const holder = new DatabaseSync(file);
  holder.exec('BEGIN IMMEDIATE');
  await store.check();
  await assert.rejects(store.check(), /locked/);
  holder.exec('ROLLBACK');
  holder.close();
  await store.check();
});

test('the check of a SQLite file fails on a full disk', (t) => {
  // A limit on the size of files is a disk that is full for this process, without mounting one.
  const script = `
    import { createSqliteStore } from ${JSON.stringify(join(import.meta.dirname, '../../src/store/sqlite/store.ts'))};
    import { auditEntry, NOW } from ${JSON.stringify(join(import.meta.dirname, 'contract/samples.ts'))};
    const store = createSqliteStore(process.argv[1]);
    await store.check();
    for (let full = false; !full; ) await store.commit({ audit: auditEntry(), now: NOW }).catch(() => { full = true; });
    // There may be room for a page left, where there is none for a commit.
    for (let checks = 1; checks <= 8; checks += 1) await store.check().catch((error) => {
      console.log(error.message);
      process.exit();
    });
  `;
  const program = ['--no-warnings', '--input-type=module', '-e', script, '--', join(newFolder(t), 'state.sqlite')];
  const { status, stdout, stderr } = spawnSync(
    'sh',
    ['-c', 'trap "" XFSZ; ulimit -f 800; exec "$@"', 'sh', process.execPath, ...program],
    { encoding: 'utf8' },
  );
  assert.equal(status, 0, stderr);
  assert.match(stdout, /disk|full|I\/O/);
});
