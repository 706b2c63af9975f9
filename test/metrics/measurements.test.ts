// In a process of its own: it measures the event loop.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createEventLoopDelay } from '../../src/calls/metrics/event-loop-delay.ts';
import { createMeasurements } from '../../src/calls/metrics/measurements.ts';
import { TenantCallCounts } from '../../src/gate/tallies.ts';
import type { Schedule } from '../../src/wire/time/clock.ts';
import { systemClock } from '../../src/wire/time/clock.ts';
import { until } from '../support/until.ts';

const tenantCalls = new TenantCallCounts();
const gate = { categories: () => [], callsTotal: () => 7, tenantCalls };

function block(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

describe('measurements', () => {
  it('are of this process: processor, memory, heap and event loop', async () => {
    const measurements = createMeasurements({ gate, clock: systemClock, windowSeconds: 60, schedule: () => () => {} });
    block(30);
    await until('a first measurement', () => measurements.process().eventLoopDelay !== undefined);
    const { cpuUsage = -1, memoryUsage = -1, heapUsed = -1, eventLoopDelay = -1 } = measurements.process();
    measurements.close();
    assert.ok(cpuUsage > 0 && cpuUsage < 1000, `processor ${cpuUsage}`);
    assert.ok(memoryUsage > heapUsed && heapUsed > 1e6, `resident ${memoryUsage}, heap ${heapUsed}`);
    assert.ok(eventLoopDelay >= 0, `delay ${eventLoopDelay}`);
    assert.equal(measurements.callsTotal(0), 7);
  });

  it('sample by the schedule they are given, and stop once closed', () => {
    let task: (() => void) | undefined;
    const schedule: Schedule = (_milliseconds, scheduled) => {
      task = scheduled;
      return () => {
        task = undefined;
      };
    };
    let now = 0;
    let calls = 0;
    const measurements = createMeasurements({
      gate: {
        categories: () => [{ index: 0, name: 'A', description: '', defaultEnabled: false }],
        callsTotal: () => calls,
        tenantCalls,
      },
      clock: { monotonic: () => now },
      windowSeconds: 2,
      schedule,
    });
    calls = 100;
    for (const at of [1000, 2000, 3000, 4000]) {
      now = at;
      task?.();
    }
    assert.equal(measurements.callsPerSecond(0), 0);
    measurements.close();
    assert.equal(task, undefined);
  });
});

describe('event-loop delay', () => {
  it('is the delay beyond the interval of the timer that measures it', async () => {
    const delay = createEventLoopDelay(60_000, systemClock);
    await until('a first measurement', () => delay.p99() !== undefined);
    const idle = delay.p99() ?? Number.NaN;
    // Longer than the system may have held the process by itself.
    block(idle + 400);
    await until('the block is measured', () => (delay.p99() ?? 0) > idle);
    const blocked = delay.p99() ?? Number.NaN;
    delay.close();
    assert.ok(blocked >= idle + 300, `idle ${idle}, blocked for 400 ms more, measured ${blocked}`);
  });

  it('is forgotten a window after it happened', async () => {
    let now = 0;
    const delay = createEventLoopDelay(60_000, { monotonic: () => now });
    await until('a first measurement', () => delay.p99() !== undefined);
    block(400);
    await until('the block is measured', () => (delay.p99() ?? 0) >= 300);
    now = 30_000;
    delay.rotate();
    assert.ok((delay.p99() ?? 0) >= 300, 'half a window later it still counts');
    const begun = performance.now();
    // Some time that is measured, but not blocked.
    await sleep(50);
    const since = performance.now() - begun;
    now = 60_000;
    delay.rotate();
    const later = delay.p99();
    delay.close();
    assert.ok(later === undefined || later < Math.max(300, since), `measured ${later} in ${since} ms`);
  });

  it('is absent before anything was measured, and measured no more once it is closed', async () => {
    const [closed, open] = [createEventLoopDelay(60_000, systemClock), createEventLoopDelay(60_000, systemClock)];
    assert.equal(closed.p99(), undefined);
    await until('a first measurement', () => closed.p99() !== undefined && open.p99() !== undefined);
    closed.close();
    const [last, idle] = [closed.p99(), open.p99() ?? Number.NaN];
    block(idle + 400);
    await until('the block is measured', () => (open.p99() ?? 0) > idle);
    open.close();
    assert.equal(closed.p99(), last);
  });
});
