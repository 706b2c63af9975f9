import type { Gate } from '../../gate/types.ts';
import type { Clock, Schedule } from '../../wire/time/clock.ts';
import { createEventLoopDelay } from './event-loop-delay.ts';
import { createRates, createTenantRates } from './rates.ts';
import type { Measurements } from './types.ts';

export interface MeasurementsOptions {
  readonly gate: Pick<Gate, 'categories' | 'callsTotal' | 'tenantCalls'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Window for rates, processor use and event-loop delay, in seconds. */
  readonly windowSeconds: number;
  readonly schedule: Schedule;
}

/** Starts measuring. */
export function createMeasurements(options: MeasurementsOptions): Measurements & { close(): void } {
  const { gate, clock, windowSeconds, schedule } = options;
  const rates = createRates({ gate, clock, windowSeconds, cpuMicroseconds });
  const delay = createEventLoopDelay(windowSeconds * 1000, clock);
  const tenantRates = createTenantRates({ calls: gate.tenantCalls, clock, windowSeconds });
  const stop = schedule(rates.intervalMs, () => {
    rates.sample();
    tenantRates.sample();
    delay.rotate();
  });
  return {
    callsTotal: (index) => gate.callsTotal(index),
    callsPerSecond: (index) => rates.callsPerSecond(index),
    ofTenant: (tenantId) => ({
      callsTotal: (index) => gate.tenantCalls.total(tenantId, index),
      callsPerSecond: (index) => tenantRates.callsPerSecond(tenantId, index),
    }),
    process() {
      const { rss, heapUsed } = process.memoryUsage();
      const cpuUsage = rates.cpuPercent();
      const eventLoopDelay = delay.p99();
      return {
        ...(cpuUsage === undefined ? {} : { cpuUsage }),
        memoryUsage: rss,
        heapUsed,
        ...(eventLoopDelay === undefined ? {} : { eventLoopDelay }),
      };
    },
    close() {
      stop();
      delay.close();
    },
  };
}

function cpuMicroseconds(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
