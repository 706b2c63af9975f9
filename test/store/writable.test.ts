import assert from 'node:assert/strict';
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import { newFolder } from '../support/folder.ts';
import { clientOf } from '../support/server.ts';
import { startService } from '../support/service.ts';
import { inFull } from '../support/tiers.ts';
import { until } from '../support/until.ts';
import { startRedis, whyNoRedis } from './redis-server.ts';

// A store that answers reads and refuses writes is not well: nothing can be switched.

/** A service on that store; `look` says its overall status and that of the store, with its reason. */
async function serviceOn(t: TestContext, store: string, why = false) {
  const limits = { readPerMinute: 1_000_000 };
  const client = clientOf(await startService(t, { store, limits, categories: { DATABASE: {} } }));
  const look = async () => {
    const { status, checks } = await client.health();
    const check = checks.find(({ name }) => name === 'store');
    const reason = why && check?.otelrdcp_reason !== undefined ? `: ${check.otelrdcp_reason}` : '';
    return `${status} ${check?.status}${reason}`;
  };
  return { client, look };
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
        const { look } = await serviceOn(t, server.url, true);
        await becomes('healthy pass', look);
        server.command(...refuse);
        await becomes(`degraded warn: the store refuses writes (${code})`, look);
        server.command(...heal);
        await becomes('healthy pass', look);
      },
    );
  }

  test('that lost changes is degraded until something is changed; while it is away nothing is known of the fleet', async (t) => {
    const server = await startRedis();
    t.after(() => server.close());
    const { client, look } = await serviceOn(t, server.url, true);
    const change = () => client.enable('DATABASE', { duration: '1m' }).catch(() => undefined);
    await change();
    server.command('FLUSHALL');
    await becomes('degraded warn: the store lost changes that it had acknowledged', look);
    await until('a change', change);
    await becomes('healthy pass', look);
    server.save();
    await server.kill();
    const fleet = async () => (await client.health()).checks.find(({ name }) => name === 'fleet')?.status;
    await until('a warning', async () => (await fleet()) === 'warn');
    await server.start();
    await becomes('healthy pass', look);
  });

  test('that cannot save is degraded', async (t) => {
    const server = await startRedis();
    t.after(() => server.close());
    const { look } = await serviceOn(t, server.url);
    await becomes('healthy pass', look);
    const directory = server.command('config', 'get', 'dir').split('\n').at(-1) ?? assert.fail();
    mkdirSync(join(directory, 'dump.rdb'));
    server.command('config', 'set', 'save', '3600 1');
    server.command('bgsave');
    await becomes('degraded warn', look);
  });
});

test('health on a SQLite file that another program keeps locked is degraded until the lock is gone', async (t) => {
  const file = join(newFolder(t), 'state.sqlite');
  const { look } = await serviceOn(t, `sqlite:${file}`);
  await becomes('healthy pass', look);
  const holder = new DatabaseSync(file);
  holder.exec('BEGIN IMMEDIATE');
  await becomes('degraded warn', look);
  holder.close();
  await becomes('healthy pass', look);
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
