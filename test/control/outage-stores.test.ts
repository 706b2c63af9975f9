import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, type TestContext, test } from 'node:test';
import { createPostgresStore } from '../../src/store/postgres/store.ts';
import { createRedisStore } from '../../src/store/redis/store.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import { isOutcomeUnknown } from '../../src/wire/errors.ts';
import { systemClock, unrefInterval, unrefTimeout } from '../../src/wire/time/clock.ts';
import { inWords } from '../audit/entries.ts';
import { startProxy } from '../store/proxy.ts';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { startPostgres, whyNoPostgres } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import type { virtualTime } from '../support/virtual-time.ts';
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
        assert.deepEqual(inWords(entries), ['enable']);
      });
    }
  });
}
