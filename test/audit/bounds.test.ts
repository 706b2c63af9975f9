import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { createRedisStore } from '../../src/store/redis/store.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS } from '../../src/wire/constants.ts';
import { rdcp } from '../cli/run.ts';
import { PATIENCE_MS } from '../store/follower.ts';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { KEYS, startServer } from '../support/server.ts';
import { inFull } from '../support/tiers.ts';
import { virtualTime } from '../support/virtual-time.ts';
import { DRAFT, NOW, openTrail, verify } from './entries.ts';

const FIRST = '0000-01-01T00:00:00.000Z';
const LAST = '9999-12-31T23:59:59.999Z';

/** A server whose trail has three entries, one in each second. */
async function start(t: TestContext) {
  let now = Date.UTC(2026, 0, 31);
  const clock = { now: () => now, monotonic: () => now };
  const server = await startServer(t, { clock });
  for (const action of ['enable', 'disable', 'toggle']) {
    const body = { action, categories: 'HTTP' };
    assert.equal((await server.request(PATHS.control, { key: 'operator', method: 'POST', body })).status, 200);
    now += 1000;
  }
  const actions = async (query: Record<string, string>) => {
    const path = `${PATHS.audit}?${new URLSearchParams(query)}`;
    const { status, body, text } = await server.request<AuditResponse>(path, { key: 'admin' });
    assert.equal(status, 200, text);
    return body.entries.map(({ action }) => action);
  };
  const cli = async (...args: string[]) => {
    const done = await rdcp(['audit', ...args, '-o', 'json', '--url', server.url], {
      env: { RDCP_API_KEY: KEYS.admin },
    });
    const actions =
      done.code === 0 ? (JSON.parse(done.stdout) as AuditResponse).entries.map(({ action }) => action) : [];
    return { ...done, actions };
  };
  return { actions, cli };
}

const AT = (second: number) => new Date(Date.UTC(2026, 0, 31, 0, 0, second)).toISOString();
/** What each time frame holds, newest first: `since` is of the frame, `until` is not. */
const FRAMES: readonly (readonly [{ since?: string; until?: string }, readonly string[]])[] = [
  [{ since: AT(1) }, ['toggle', 'disable']],
  [{ until: AT(1) }, ['enable']],
  [{ since: AT(1), until: AT(2) }, ['disable']],
  [{ since: AT(1), until: AT(1) }, []],
  [{ since: AT(2), until: AT(1) }, []],
  [{ since: FIRST, until: LAST }, ['toggle', 'disable', 'enable']],
  [{ since: LAST }, []],
  [{ until: FIRST }, []],
];

test('a time frame holds what is from its beginning on and before its end, over HTTP and in the command', async (t) => {
  const { actions, cli } = await start(t);
  for (const [frame, expected] of FRAMES) {
    const name = JSON.stringify(frame);
    assert.deepEqual(await actions(frame), expected, name);
    const args = Object.entries(frame).flatMap(([option, value]) => [`--${option}`, value]);
    assert.deepEqual((await cli(...args)).actions, expected, name);
  }
  assert.deepEqual((await cli('--since', `${'9'.repeat(15)}s`)).actions, ['toggle', 'disable', 'enable']);
});

// What the endpoint refuses is in test/server/reading.test.ts, what a store takes for no cursor in its contract.
test('the command refuses a limit and a time as the endpoint does, and goes on by the cursor of a page', async (t) => {
  const { cli } = await start(t);
  for (const [option, values] of Object.entries({
    limit: ['0', '1001', '-1', '+1', '1e2', '0x10', ' 1', '1 ', '١', '9'.repeat(15), '9'.repeat(400)],
    since: ['', 'yesterday', '2026-01-31', '2026-02-30T00:00:00.000Z', '10000-01-01T00:00:00.000Z', `${LAST} `],
  })) {
    for (const value of values) {
      const { code, stderr } = await cli(`--${option}=${value}`);
      assert.deepEqual([code, stderr.split('\n').length], [2, 2], `${value}: ${stderr}`);
      assert.match(stderr, new RegExp(`--${option}`));
    }
  }
  for (const limit of ['1000', '0001000', '3']) assert.equal((await cli('--limit', limit)).actions.length, 3, limit);
  const first = await cli('--limit', '1');
  const cursor = (JSON.parse(first.stdout) as AuditResponse).otelrdcp_next ?? assert.fail('no cursor');
  assert.deepEqual((await cli('--limit', '1', '--cursor', cursor)).actions, ['disable']);
  const { code, stderr } = await cli('--cursor', 'nonsense');
  assert.equal(code, 1);
  assert.match(stderr, /^rdcp: RDCP_MALFORMED_REQUEST: [^\n]*cursor[^\n]*\n$/);
});

function startTrail(store: StateStore, instanceId: string) {
  const lost = { request: false, answer: false };
  const trail = openTrail({
    store: {
      ...store,
      async commit(commit) {
        if (lost.request) throw new Error('the connection was lost');
        const result = await store.commit(commit);
        if (lost.answer) throw new Error('the connection was lost');
        return result;
      },
    },
    instanceId,
    time: virtualTime(NOW),
  });
  const writeWithout = (what: 'request' | 'answer') => {
    lost[what] = true;
    return trail.record(DRAFT).finally(() => {
      lost[what] = false;
    });
  };
  return {
    write: () => trail.record(DRAFT),
    /** The store takes it, and says nothing. */
    writeUnheard: () => writeWithout('answer'),
    /** The store never hears of it. */
    writeInVain: () => writeWithout('request'),
  };
}

/** Two processes whose entries are in one store, some of the one there already. */
async function afterOthers(before: number) {
  const store = createMemoryStore();
  const others = startTrail(store, 'others');
  const own = startTrail(store, 'own');
  const othersWrite = async (count: number) => {
    for (let written = 0; written < count; written += 1) await others.write();
  };
  await othersWrite(before);
  return { store, own, othersWrite };
}

const trailOf = async (store: StateStore) => (await store.queryAudit({ limit: 10_000 })).entries.toReversed();

for (const before of [0, 1, 400]) {
  for (const since of [0, 1, 400]) {
    test(`an entry whose answer was lost is taken for kept, with ${before} entries before it and ${since} of others since`, async () => {
      const { store, own, othersWrite } = await afterOthers(before);
      await assert.rejects(own.writeUnheard());
      await othersWrite(since);
      await own.write();
      const entries = await trailOf(store);
      assert.equal(verify(entries), undefined);
      assert.deepEqual(
        entries
          .filter(({ compliance }) => compliance.instanceId === 'own')
          .map(({ compliance }) => compliance.sequence),
        [1, 2],
      );
    });

    test(`an entry that never arrived leaves no gap, with ${before} entries before it and ${since} of others since`, async () => {
      const { store, own, othersWrite } = await afterOthers(before);
      await assert.rejects(own.writeInVain());
      await othersWrite(since);
      await own.write();
      await own.write();
      assert.equal(verify(await trailOf(store)), undefined);
      assert.equal((await trailOf(store)).length, before + since + 2);
    });
  }
}

inFull(
  'an entry in doubt is looked for among the newest alone, however long the trail is',
  {
    skip: whyNoRedis(),
  },
  async (t) => {
    const redis = await startRedis();
    const store = createRedisStore({ url: redis.url, deadlineMs: PATIENCE_MS });
    t.after(async () => {
      await store.close();
      await redis.close();
    });
    await startTrail(store, 'others').write();
    const [entry] = await trailOf(store);
    const fill = "for i = 1, 3000 do redis.call('XADD', KEYS[1], '*', 'entry', ARGV[1]) end";
    redis.command('EVAL', fill, '1', '{rdcp}:audit', JSON.stringify(entry));
    const own = startTrail(store, 'own');
    await own.write();
    redis.command('CONFIG', 'RESETSTAT');
    await assert.rejects(own.writeInVain());
    await own.write();
    const [, calls] = /cmdstat_xrevrange:calls=(\d+)/.exec(redis.command('INFO', 'commandstats')) ?? [];
    assert.ok(Number(calls) <= 2, `${calls} looks`);
  },
);
