import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS } from '../../src/wire/constants.ts';
import type { DiscoveryResponse } from '../../src/wire/messages.ts';
import { newStore } from '../support/folder.ts';

import { until } from '../support/until.ts';
import { hostClock } from './host-clock.ts';
import { type Service, startService } from './service.ts';

const HOUR = 3_600_000;
const YEAR = 365 * 24 * HOUR;
const JUMPS = { 'an hour back': -HOUR, 'a year back': -YEAR, 'an hour forward': HOUR, 'a year forward': YEAR };
/** A process looks at its clock this often, at least, while there is a temporary control. */
const TICK_MS = 1000;

interface Host {
  /** Starts a service on the store, whose clock is off by that much. */
  start(clockOffset?: number): Promise<Service>;
  /** Seconds in which a service is certainly started once more, going by how long it took before. */
  readonly enoughForAStart: number;
}

/** @param store a SQLite file of its own where none is given */
export function host(t: TestContext, store = newStore(t)): Host {
  let slowest = 0;
  return {
    async start(clockOffset = 0) {
      const started = hostClock();
      const service = await startService(t, {
        config: { store },
        imports: [join(import.meta.dirname, 'set-clock.ts')],
        env: { RDCP_CLOCK_OFFSET: String(clockOffset) },
      });
      slowest = Math.max(slowest, hostClock() - started);
      return service;
    },
    get enoughForAStart() {
      return 3 + Math.ceil((2 * slowest) / 1000);
    },
  };
}

/** Switches DATABASE on for a while; returns when that is over at the latest, by {@link hostClock}. */
export async function enableFor(service: Service, seconds: number): Promise<number> {
  const answer = await service.control({ action: 'enable', categories: 'DATABASE', options: { duration: seconds } });
  assert.equal(answer.status, 200, answer.text);
  return hostClock() + seconds * 1000;
}

export const passed = (moment: number) => sleep(Math.max(0, moment - hostClock()));

export async function expiryOf(service: Service): Promise<string | undefined> {
  const { body } = await service.request<DiscoveryResponse>(PATHS.discovery, { key: 'discovery' });
  return body.categories.find(({ name }) => name === 'DATABASE')?.otelrdcp_expiresAt;
}

/**
 * However late the system lets the process run: what is over is over at its next turn, of which the probe may be the
 * first part.
 */
export async function assertOffSince(service: Service, end: number): Promise<void> {
  const late = (await service.momentsOn()).filter((moment) => moment > end);
  assert.ok(late.length <= 2, `on ${late.length} times, up to ${Math.round((late.at(-1) ?? 0) - end)} ms too late`);
  assert.equal((await service.states()).DATABASE, false);
}

export async function assertExpiredOnce(service: Service): Promise<void> {
  const expiries = await until('the entry of the expiry', async () => {
    const { status, body } = await service.request<AuditResponse>(`${PATHS.audit}?action=expire`, { key: 'admin' });
    // A store that was away a moment ago may still be refused to be asked.
    return status === 200 && body.entries.length > 0 ? body.entries : undefined;
  });
  assert.deepEqual(
    expiries.map(({ categories }) => categories),
    [['DATABASE']],
  );
}

export type Jump = keyof typeof JUMPS;

/**
 * Sets the clock of a service while a temporary control runs.
 * @param storeFor makes a store that is not a SQLite file
 */
export function endsThoughClockJumps(jumps: readonly Jump[], storeFor?: (t: TestContext) => Promise<string>): void {
  for (const jump of jumps) {
    const milliseconds = JUMPS[jump];
    it(`ends in time although the clock is set ${jump}`, async (t) => {
      const here = host(t, await storeFor?.(t));
      const service = await here.start();
      const end = await enableFor(service, 3);
      service.child.send(milliseconds);
      const latest = milliseconds > 0 ? hostClock() + TICK_MS + 100 : end;
      await passed(latest);
      assert.equal((await service.states()).DATABASE, false);
      await assertOffSince(service, latest);
      await assertExpiredOnce(service);
    });

    it(`ends in time although the service is restarted into a clock that was set ${jump}`, async (t) => {
      const here = host(t, await storeFor?.(t));
      const first = await here.start();
      const end = await enableFor(first, here.enoughForAStart);
      await first.kill();
      const second = await here.start(milliseconds);
      await passed(Math.min(end, hostClock() + 500));
      assert.equal((await second.states()).DATABASE, false);
      assert.deepEqual(await second.momentsOn(), [], 'what is left is not known, so nothing is');
      await assertExpiredOnce(second);
    });
  }
}

/** Starts a service a second time, whose first process ended by that signal. */
export function goesOnAfter(signal: 'SIGKILL' | 'SIGTERM'): void {
  it(`goes on after a restart by ${signal} with the end that it had`, async (t) => {
    const here = host(t);
    const first = await here.start();
    const end = await enableFor(first, here.enoughForAStart);
    const expiresAt = await expiryOf(first);
    first.child.kill(signal);
    await first.ended;
    const second = await here.start();
    assert.equal((await second.states()).DATABASE, true);
    assert.equal(await expiryOf(second), expiresAt);
    await passed(end);
    assert.equal((await second.states()).DATABASE, false);
    await assertOffSince(second, end);
    assert.ok((await second.momentsOn()).length > 50, 'it was on until then');
    await assertExpiredOnce(second);
  });
}
