// Measures, so nothing runs beside it: the delay of the event loop.

import assert from 'node:assert/strict';
import { renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
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
import { smallDisk, whyNoMount } from './small-disk.ts';

/** How long each fault lasts under load, in milliseconds. */
const FAULT_MS = Number(process.env.RDCP_FAULT_MS ?? 1500);
const CLIENTS = 8;
/** What a fault may hold the event loop for, beyond what the same load on the same machine does without one. */
const MAX_P99_MS = 20;

interface Fault {
  /** Makes it; what is returned ends it. */
  readonly begin: () => (() => unknown) | undefined;
  /** What health says of the store meanwhile. */
  readonly reason: RegExp;
}

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

async function holds(t: TestContext, service: Service, name: string, { begin, reason }: Fault): Promise<void> {
  const quiet = await underLoad(service, FAULT_MS);
  const end = begin();
  const faulty = await underLoad(service, FAULT_MS);
  await until(`${name} in health`, async () => {
    const { status, reason: said } = await storeCheck(service);
    return status === 'warn' && reason.test(said) ? true : undefined;
  });
  const alone = await service.control({ action: 'enable', categories: ['DATABASE'], options: { duration: '1m' } });
  assert.equal(alone.body.status, 'partial', 'an operator can still switch something on for a while');
  end?.();
  if (end !== undefined) {
    await until(`health after ${name}`, async () => ((await storeCheck(service)).status === 'pass' ? true : undefined));
  }
  t.diagnostic(
    `${name}: event-loop delay p99 ${faulty.p99.toFixed(1)} ms, longest ${faulty.longest.toFixed(1)} ms, ` +
      `${faulty.requests} requests; without it ${quiet.p99.toFixed(1)} ms, ${quiet.longest.toFixed(1)} ms, ` +
      `${quiet.requests}; load ${loadavg()[0]?.toFixed(1)}`,
  );
  const most = MAX_P99_MS + quiet.p99 + quiet.longest;
  assert.ok(faulty.p99 < most, `p99 ${faulty.p99} ms; without the fault ${quiet.p99} ms, longest ${quiet.longest} ms`);
}

describe('a SQLite file that fails under load holds up nothing, and health says why:', () => {
  const faults: Readonly<Record<string, (file: string) => Fault>> = {
    'locked by another program': (file) => ({
      begin() {
        const holder = new DatabaseSync(file);
        holder.exec('BEGIN IMMEDIATE');
        return () => holder.close();
      },
      reason: /is locked by another program/,
    }),
    'moved away': (file) => ({
      begin() {
        renameSync(file, `${file}.old`);
        return undefined;
      },
      reason: /was removed or replaced/,
    }),
  };
  for (const [name, fault] of Object.entries(faults)) {
    test(name, async (t) => {
      const file = join(newFolder(t), 'state.db');
      const service = await startService(t, { config: { store: `sqlite:${file}` } });
      await holds(t, service, name, fault(file));
    });
  }

  test('on a full disk', { skip: whyNoMount() }, async (t) => {
    const disk = smallDisk(t, '12m');
    const file = join(disk, 'state.db');
    const service = await startService(t, { config: { store: `sqlite:${file}` } });
    const filler = join(disk, 'filler');
    await holds(t, service, 'on a full disk', {
      begin() {
        for (let bytes = 16 * 2 ** 20; bytes >= 1; bytes = Math.floor(bytes / 2)) {
          try {
            writeFileSync(filler, Buffer.alloc(bytes), { flag: 'a' });
          } catch {}
        }
        assert.ok(statSync(filler).size > 0);
        return () => rmSync(filler);
      },
      reason: /the disk is full|I\/O error/,
    });
  });
});

describe('a Redis that fails under load holds up nothing, and health says why:', { skip: whyNoRedis() }, () => {
  test('frozen, full, and without permission', async (t) => {
    const redis = await startRedis();
    t.after(() => redis.close());
    const service = await startService(t, { config: { store: redis.url } });
    t.after(() => redis.thaw());
    await holds(t, service, 'frozen', {
      begin() {
        redis.freeze();
        return () => redis.thaw();
      },
      reason: /cannot be reached/,
    });
    await holds(t, service, 'full', {
      begin() {
        redis.command('config', 'set', 'maxmemory', '1');
        return () => redis.command('config', 'set', 'maxmemory', '0');
      },
      reason: /refuses writes \(OOM\)/,
    });
    await holds(t, service, 'without permission', {
      begin() {
        redis.command('acl', 'setuser', 'default', '-xadd');
        return () => redis.command('acl', 'setuser', 'default', '+xadd');
      },
      reason: /refuses writes \(NOPERM\)/,
    });
  });
});
