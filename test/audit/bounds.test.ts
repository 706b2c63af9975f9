import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { openStore } from '../../src/store/open.ts';
import { createRedisStore } from '../../src/store/redis/store.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS } from '../../src/wire/constants.ts';
import type { ErrorResponse } from '../../src/wire/messages.ts';
import { rdcp } from '../cli/run.ts';
import { PATIENCE_MS } from '../store/follower.ts';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { newStore } from '../support/folder.ts';
import { KEYS, startServer } from '../support/server.ts';
import { inFull } from '../support/tiers.ts';
import { virtualTime } from '../support/virtual-time.ts';
import { DRAFT, NOW, openTrail, verify } from './entries.ts';

const FIRST = '0000-01-01T00:00:00.000Z';
const LAST = '9999-12-31T23:59:59.999Z';

/** A server whose trail has three entries, one in each second. */
async function start(t: TestContext, store: StateStore = createMemoryStore()) {
  let now = Date.UTC(2026, 0, 31);
  const clock = { now: () => now, monotonic: () => now };
  const server = await startServer(t, { store, clock });
  for (const action of ['enable', 'disable', 'toggle']) {
    const body = { action, categories: 'HTTP' };
    assert.equal((await server.request(PATHS.control, { key: 'operator', method: 'POST', body })).status, 200);
    now += 1000;
  }
  const ask = (query: Record<string, string>) =>
    server.request<AuditResponse & ErrorResponse>(`${PATHS.audit}?${new URLSearchParams(query)}`, { key: 'admin' });
  const actions = async (query: Record<string, string>) => {
    const { status, body, text } = await ask(query);
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
  return { ask, actions, cli };
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

test('a limit is a number from 1 to 1000, and pages of one entry are the whole trail', async (t) => {
  const { ask, actions, cli } = await start(t);
  for (const limit of ['1000', '0001000', '3']) assert.equal((await actions({ limit })).length, 3, limit);
  for (const limit of ['0', '1001', '-1', '+1', '1e2', '0x10', ' 1', '1 ', '١', '9'.repeat(15), '9'.repeat(400)]) {
    const { status, body } = await ask({ limit });
    assert.deepEqual([status, body.error.details?.field], [400, 'limit'], limit);
    assert.equal(body.error.message, 'Query parameter limit must be a whole number from 1 to 1000');
    const { code, stderr } = await cli(`--limit=${limit}`);
    assert.deepEqual([code, stderr.split('\n').length], [2, 2], `${limit}: ${stderr}`);
    assert.match(stderr, /--limit/);
  }
  const read: string[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const { body } = await ask({ limit: '1', ...(cursor !== '' && { cursor }) });
    read.push(...body.entries.map(({ action }) => action));
    cursor = body.otelrdcp_next;
    assert.ok(read.length <= 3);
  }
  assert.deepEqual(read, ['toggle', 'disable', 'enable']);
  const first = await cli('--limit', '1');
  const cursor = (JSON.parse(first.stdout) as AuditResponse).otelrdcp_next ?? assert.fail('no cursor');
  assert.deepEqual((await cli('--limit', '1', '--cursor', cursor)).actions, ['disable']);
});

test('a time that is none is named by its parameter, and by its option', async (t) => {
  const { ask, cli } = await start(t);
  const wrong = ['', 'yesterday', '2026-01-31', '2026-01-31T00:00:00Z', '2026-02-30T00:00:00.000Z', '1769817600000'];
  for (const value of [...wrong, '2026-01-31T00:00:00.000+00:00', '10000-01-01T00:00:00.000Z', `${LAST} `]) {
    for (const name of ['since', 'until']) {
      const { status, body } = await ask({ [name]: value });
      assert.deepEqual([status, body.error.details?.field], [400, name], value);
      // The command takes a duration in seconds too.
      if (/^\d+$/.test(value)) continue;
      const { code, stderr } = await cli(`--${name}=${value}`);
      assert.deepEqual([code, stderr.split('\n').length], [2, 2], `${value}: ${stderr}`);
      assert.match(stderr, new RegExp(`--${name}`));
    }
  }
});

for (const kind of ['memory', 'SQLite'] as const) {
  test(`a cursor that a store in ${kind} did not give out is refused, and one beyond either end is no error`, async (t) => {
    const { ask, actions, cli } = await start(t, kind === 'memory' ? undefined : sqliteStore(t));
    const encode = (position: string) => Buffer.from(position).toString('base64url');
    assert.deepEqual(await actions({ cursor: encode('0') }), []);
    assert.deepEqual(await actions({ cursor: encode('900000000000000') }), ['toggle', 'disable', 'enable']);
    const wrong = ['-1', '1.5', '01x', '', ' 1', '9'.repeat(30), 'NaN', '1-0'].map(encode);
    for (const cursor of [...wrong, `${encode('1')}=`, '%00', '../../etc', 'a'.repeat(1025)]) {
      const { status, body } = await ask({ cursor });
      assert.deepEqual([status, body.error.code, body.error.details?.field], [400, 'RDCP_MALFORMED_REQUEST', 'cursor']);
    }
    const { code, stderr } = await cli('--cursor', 'nonsense');
    assert.equal(code, 1);
    assert.match(stderr, /^rdcp: RDCP_MALFORMED_REQUEST: [^\n]*cursor[^\n]*\n$/);
  });
}

function sqliteStore(t: TestContext) {
  return openStore(newStore(t));
}

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
