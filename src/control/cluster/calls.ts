import { called, calledByTenants } from '../../calls/metrics/called.ts';
import { addCalls } from '../../calls/metrics/shared.ts';
import type { Measurements, SharedMeasurements } from '../../calls/metrics/types.ts';
import type { Gate } from '../../gate/types.ts';
import { diagnostics } from '../../otel/diagnostics.ts';
import type { Schedule } from '../../wire/time/clock.ts';
import type { Board, Calls } from './board.ts';

/** Interval for publishing calls, in milliseconds. */
const PUBLISH_MS = 200;
/** Rates of idle categories, and calls of tenants, are published only in every nth interval. */
const ALL_EVERY = 5;
/** How long a read is cached, in milliseconds: a response reads every category. */
const CACHE_MS = 20;

export interface SharedCallsOptions {
  /** Its board is `undefined` while this process is not in a cluster. */
  readonly cluster: { readonly board: Board | undefined };
  /** Measurements of this process. */
  readonly own: Measurements;
  readonly gate: Pick<Gate, 'categories' | 'tenantCalls'>;
  readonly clock: { monotonic(): number };
  readonly schedule: Schedule;
}

/** Measurements whose calls are summed over all processes of the cluster. */
export interface SharedCalls extends SharedMeasurements {
  close(): void;
}

/** Publishes this process's calls to its cluster and adds the calls of the other processes. */
export function shareCalls({ cluster, own, gate, clock, schedule }: SharedCallsOptions): SharedCalls {
  const published = new Map<string, { readonly total: number; readonly rate: number }>();
  const read = new Map<string, { readonly at: number; readonly calls: ReturnType<Board['callsOfOthers']> }>();
  let ticks = 0;

  function publish(all: boolean): void {
    const to = cluster.board;
    if (to === undefined) return;
    const changed: Calls[] = [];
    const sources = { gate, own };
    for (const [category, total, rate, tenant = ''] of [...called(sources), ...(all ? calledByTenants(sources) : [])]) {
      const calls = { tenant, category, total, rate };
      const key = `${tenant}\n${category}`;
      const before = published.get(key);
      if (before?.total === calls.total && (!all || before.rate === calls.rate)) continue;
      published.set(key, calls);
      changed.push(calls);
    }
    to.publishCalls(changed);
  }

  function guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      diagnostics.error('rdcp: sharing call counts with the cluster failed', error);
    }
  }

  function ofOthers(tenant: string): ReturnType<Board['callsOfOthers']> | undefined {
    const from = cluster.board;
    if (from === undefined) return undefined;
    const now = clock.monotonic();
    const known = read.get(tenant);
    if (known !== undefined && now - known.at < CACHE_MS) return known.calls;
    guarded(() => {
      read.clear();
      read.set(tenant, { at: now, calls: from.callsOfOthers(tenant) });
    });
    return read.get(tenant)?.calls;
  }

  const stop = schedule(PUBLISH_MS, () => {
    ticks += 1;
    guarded(() => publish(ticks % ALL_EVERY === 0));
  });
  return {
    ...addCalls(own, {
      of: (category, tenantId = '') => {
        const calls = ofOthers(tenantId)?.get(category);
        return calls && { ...calls, seen: calls.total };
      },
    }),
    close() {
      stop();
      guarded(() => publish(true));
    },
  };
}
