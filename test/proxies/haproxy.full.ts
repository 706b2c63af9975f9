import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withProgram } from '../examples/required-program.ts';
import { until } from '../support/until.ts';
import { ADDRESSES, type Haproxy, startHaproxy } from './haproxy.ts';
import { ADMIN, askOverTls, startService } from './recipe.ts';

/** Probes are 120 a minute; HAProxy serves the two servers by turns. */
const LIMITS = { anonymousPerMinute: 10, healthPerMinute: 150 };
const WRONG_KEY = {
  'X-RDCP-API-Key': 'wrong'.repeat(10),
  'X-Forwarded-For': '127.0.0.1',
  Forwarded: 'for=127.0.0.1',
};

test('the recipe for HAProxy: servers stay up while a client behind it floods, and each client has its own limits', (t) =>
  withProgram(t, 'haproxy', async () => {
    let broken = false;
    const health = {
      database: () => {
        if (broken) throw new Error('the database is gone');
      },
    };
    // Redis is not part of this test.
    const service = await startService(t, 'HAProxy', ADDRESSES, { limits: LIMITS, health, store: 'memory:' });
    const second = await startService(t, 'HAProxy', ADDRESSES, { limits: LIMITS, store: 'memory:' });
    const haproxy = await startHaproxy(t, [service.port, second.port]);
    await until('a check that passed', () => isUp(haproxy));
    const { port, cert, stateOf } = haproxy;
    const ask = (asked: Parameters<typeof askOverTls>[2]) => askOverTls(port, cert, asked);

    const flood = async (path: string, times: number, headers: Readonly<Record<string, string>> = {}) => {
      const statuses = new Set<number>();
      for (let index = 0; index < times; index += 1) {
        statuses.add((await ask({ path, headers, from: '127.0.0.3' })).status);
      }
      return [...statuses].sort();
    };
    assert.deepEqual(await flood('/rdcp/v1/status', 30, WRONG_KEY), [401, 429]);
    assert.deepEqual(await flood('/rdcp/v1/health', 2, WRONG_KEY), [429]);
    assert.deepEqual(await flood('/rdcp/v1/health', 320), [200, 429]);
    assert.equal((await stateOf('shop1')).failed, 0, 'no check has failed');
    assert.ok(await isUp(haproxy));
    assert.equal((await ask({})).status, 200, 'other clients are served');
    assert.equal((await ask({ path: '/rdcp/v1/status', from: '127.0.0.4' })).status, 401, 'and not limited');

    const body = JSON.stringify({ action: 'status' });
    for (let index = 0; index < 4; index += 1) {
      const switched = await ask({ method: 'POST', path: '/rdcp/v1/control', headers: ADMIN, body });
      assert.equal(switched.status, 200);
    }
    const entries = [...(await service.audit()), ...(await second.audit())];
    const addresses = (outcome: string) =>
      [...new Set(entries.filter((entry) => entry.outcome === outcome).map(({ source }) => source?.address))].sort();
    assert.deepEqual(addresses('success'), ['127.0.0.2']);
    assert.deepEqual(addresses('denied'), ['127.0.0.3', '127.0.0.4']);

    broken = true;
    await until('the server to be taken out', async () => (await stateOf('shop1')).status === 'DOWN' || undefined);
  }));

async function isUp({ stateOf }: Haproxy): Promise<true | undefined> {
  const { status, check } = await stateOf('shop1');
  return (status === 'UP' && check === 'L7OK') || undefined;
}
