import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { createPostgresStore } from '../../src/store/postgres/store.ts';
import { createRedisStore } from '../../src/store/redis/store.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import { isOutcomeUnknown } from '../../src/wire/errors.ts';
import { systemClock, unrefInterval, unrefTimeout } from '../../src/wire/time/clock.ts';
import { verify } from '../audit/entries.ts';
import { startProxy } from '../store/proxy.ts';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { newFolder } from '../support/folder.ts';
import { startPostgres, whyNoPostgres } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import type { virtualTime } from '../support/virtual-time.ts';
import { breakableStore } from './breakable-store.ts';
import { enable, startPlane } from './running-plane.ts';

const TIME = { clock: systemClock, delay: unrefTimeout, schedule: unrefInterval } as ReturnType<typeof virtualTime>;
const TEMPORARY = enable(600);
const REPLAY = { key: 'ops r-1', fingerprint: 'f' };

type Server = Awaited<ReturnType<typeof startRedis>> | Awaited<ReturnType<typeof startPostgres>>;

const SERVERS = [
  {
    name: 'Redis',
    skip: whyNoRedis(),
    start: () => startRedis(),
    open: (url: string, name: string) => createRedisStore({ url, prefix: `${name}:` }),
  },
  {
    name: 'PostgreSQL',
    skip: whyNoPostgres(),
    start: () => startPostgres(),
    open: (url: string, name: string) => createPostgresStore({ url, schema: name }),
  },
];

async function planeOn(t: TestContext, store: StateStore) {
  const plane = await startPlane({ store, time: TIME });
  t.after(async () => {
    await plane.plane.close();
    await plane.audit.close();
    await store.close();
  });
  return plane;
}

type Plane = Awaited<ReturnType<typeof planeOn>>;

/** What an older control leaves behind does not end one that was set without the store. */
async function endsNothingNewer(here: Plane, there: Plane, [leave, comeBack]: (() => unknown)[]): Promise<void> {
  await there.control(enable(1));
  await until('the older control is heard of', () => here.stateOf().temporary);
  await leave?.();
  const local = { ...TEMPORARY, action: 'disable' as const };
  const outcome = await until('a control of this process alone', async () => {
    const asked = await here.control(local).catch(() => undefined);
    return asked?.response.status === 'partial' && asked;
  });
  await until('the older control has ended', async () =>
    (await there.trail()).some(({ action }) => action === 'expire'),
  );
  await comeBack?.();
  const { expiresAt } = outcome.response.changes[0] ?? {};
  await until('it is in force in both', () => there.stateOf().expiresAt === Date.parse(expiresAt ?? ''));
  assert.equal(here.stateOf().expiresAt, there.stateOf().expiresAt);
  const entries = (await there.trail()).toReversed();
  assert.deepEqual(
    entries.filter(({ action }) => action === 'reconcile').map(({ reason }) => reason),
    ['set in one process while the store could not be reached'],
  );
  assert.equal(verify(entries), undefined);
}

for (const { name, skip, start, open } of SERVERS) {
  describe(`a process that is cut off from ${name}`, { skip }, () => {
    let server: Server;
    before(async () => {
      server = await start();
    });
    after(() => server.close());

    /** One process behind a proxy, and one that is not. */
    async function two(t: TestContext) {
      const space = `s${randomBytes(8).toString('hex')}`;
      const proxy = await startProxy(server.port);
      t.after(proxy.close);
      const there = await planeOn(t, open(server.url, space));
      const here = await planeOn(t, open(server.url.replace(`:${server.port}`, `:${proxy.port}`), space));
      // An entry of its own: before the first, a process asks what to link it to.
      await here.control({ action: 'status' });
      return { here, there, proxy };
    }

    for (const held of ['down', 'up'] as const) {
      test(`says that an outcome is unknown while nothing passes ${held}, and has one answer and one entry for it`, async (t) => {
        const { here, there, proxy } = await two(t);
        const pass = proxy.hold(held);
        for (const asked of ['first', 'again']) {
          await assert.rejects(here.control(TEMPORARY, { replay: REPLAY }), isOutcomeUnknown, asked);
        }
        assert.equal(here.database.enabled, false, 'not in this process alone');
        if (held === 'down') await until('it is on elsewhere', () => there.database.enabled);
        pass();
        const { response } = await until('the answer', () =>
          here
            .control(TEMPORARY, { replay: REPLAY })
            .catch((error) => (isOutcomeUnknown(error) ? undefined : Promise.reject(error))),
        );
        assert.equal(response.status, 'success');
        assert.deepEqual((await there.control(TEMPORARY, { replay: REPLAY })).response, response);
        await here.audit.close();
        const entries = (await there.trail()).toReversed().slice(1);
        assert.deepEqual(
          entries.map(({ action, outcome }) => [action, outcome]),
          [['enable', 'success']],
        );
      });
    }

    test('answers a change whose first answer was lost, where the store is back in time', async (t) => {
      const { here, there, proxy } = await two(t);
      const pass = proxy.hold('down');
      const asked = here.control(TEMPORARY, { replay: REPLAY });
      await until('it is on elsewhere', () => there.database.enabled);
      await proxy.cut();
      pass();
      await proxy.mend();
      assert.equal((await asked).response.status, 'success');
      await until('it is on here', () => here.database.enabled);
      assert.equal((await there.trail()).length, 2);
    });

    test('keeps what was set there when an older control ends meanwhile', async (t) => {
      const { here, there, proxy } = await two(t);
      await endsNothingNewer(here, there, [proxy.cut, proxy.mend]);
    });
  });
}

test('a process that is cut off from a SQLite file keeps what was set there when an older control ends meanwhile', async (t) => {
  const file = join(newFolder(t), 'state.db');
  const way = breakableStore(createSqliteStore(file));
  const there = await planeOn(t, createSqliteStore(file));
  const here = await planeOn(t, way.store);
  const follow = setInterval(() => void way.announce('*'), 50);
  t.after(() => clearInterval(follow));
  const down = (value: boolean) => () => {
    way.mode.down = value;
  };
  await endsNothingNewer(here, there, [down(true), down(false)]);
});

test('an emptied Redis is one entry, although no process could write it at first', {
  skip: whyNoRedis(),
}, async (t) => {
  const server = await startRedis();
  t.after(() => server.close());
  const waiting: (() => void)[] = [];
  const planes: Plane[] = [];
  for (let process = 0; process < 3; process++) {
    const proxy = await startProxy(server.port);
    t.after(proxy.close);
    const store = createRedisStore({ url: server.url.replace(`:${server.port}`, `:${proxy.port}`) });
    // Before the plane hears of it.
    store.onReset?.(() => waiting.push(proxy.hold('up')));
    planes.push(await planeOn(t, store));
  }
  await planes[0]?.control(enable());
  await until('all have heard of it', () => planes.every(({ database }) => database.enabled));
  server.command('FLUSHALL');
  await until('all have noticed, and failed to write it', () => planes.every(({ audit }) => !audit.healthy));
  assert.equal(waiting.length, planes.length);
  for (const pass of waiting) pass();
  await until('all can write', () => planes.every(({ audit }) => audit.healthy));
  const store = createRedisStore({ url: server.url });
  t.after(() => store.close());
  for (const { audit } of planes) await audit.close();
  const { entries } = await store.queryAudit({ limit: 100 });
  assert.deepEqual(
    entries.map(({ action, reason }) => [action, reason]),
    [['state_reset', 'the store came back empty']],
  );
});
