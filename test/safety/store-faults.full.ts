// Measures, so nothing runs beside it: the delay of the event loop.

import assert from 'node:assert/strict';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { PATHS } from '../../src/wire/constants.ts';
import type { HealthResponse } from '../../src/wire/messages.ts';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { newFolder } from '../support/folder.ts';
import { until } from '../support/until.ts';
import { startLoad } from './load.ts';
import { type Service, startService } from './service.ts';

/** How long each fault lasts under load, in milliseconds. */
const FAULT_MS = Number(process.env.RDCP_FAULT_MS ?? 1500);
const CLIENTS = 8;
/** What a fault may hold the event loop for, beyond what the same load on the same machine does without one. */
const MAX_P99_MS = 20;

const storeCheck = async (service: Service) => {
  const { body } = await service.request<HealthResponse>(PATHS.health, { key: 'status' });
  const check = body.checks.find(({ name }) => name === 'store');
  return { overall: body.status, status: check?.status, reason: check?.otelrdcp_reason ?? '' };
};

/** The delay of the event loop under load, while it lasts. */
async function underLoad(service: Service, milliseconds: number) {
  await service.delay();
  const load = startLoad(service.url, CLIENTS);
  await sleep(milliseconds);
  const delay = await service.delay();
  const outcomes = await load.stop();
  return { ...delay, requests: outcomes.length };
}

/** @param begin makes the fault, and returns what ends it */
async function holds(t: TestContext, store: string, reason: RegExp, begin: () => () => void): Promise<void> {
  const service = await startService(t, { config: { store } });
  const quiet = await underLoad(service, FAULT_MS);
  const end = begin();
  t.after(end);
  const faulty = await underLoad(service, FAULT_MS);
  await until('the fault in health', async () => {
    const { status, reason: said } = await storeCheck(service);
    return status === 'warn' && reason.test(said);
  });
  const alone = await service.control({ action: 'enable', categories: ['DATABASE'], options: { duration: '1m' } });
  assert.equal(alone.body.status, 'partial', 'an operator can still switch something on for a while');
  end();
  await until('health after the fault', async () => (await storeCheck(service)).status === 'pass');
  t.diagnostic(
    `event-loop delay p99 ${faulty.p99.toFixed(1)} ms, longest ${faulty.longest.toFixed(1)} ms, ` +
      `${faulty.requests} requests; without it ${quiet.p99.toFixed(1)} ms, ${quiet.longest.toFixed(1)} ms, ` +
      `${quiet.requests}; load ${loadavg()[0]?.toFixed(1)}`,
  );
  const most = MAX_P99_MS + quiet.p99 + quiet.longest;
  assert.ok(faulty.p99 < most, `p99 ${faulty.p99} ms; without the fault ${quiet.p99} ms, longest ${quiet.longest} ms`);
}

describe('a store that fails under load holds up nothing, and health says why:', () => {
  test('a SQLite file that another program has locked', async (t) => {
    const file = join(newFolder(t), 'state.db');
    await holds(t, `sqlite:${file}`, /is locked by another program/, () => {
      const holder = new DatabaseSync(file);
      holder.exec('BEGIN IMMEDIATE');
      return () => holder.isOpen && holder.close();
    });
  });

  test('a Redis that is frozen', { skip: whyNoRedis() }, async (t) => {
    const redis = await startRedis();
    t.after(() => redis.close());
    await holds(t, redis.url, /cannot be reached/, () => {
      redis.freeze();
      return () => redis.thaw();
    });
  });
});
