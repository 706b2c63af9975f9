import type { Schedule } from '../clock.ts';
import { diagnostics } from '../diagnostics.ts';
import type { Gate } from '../gate/types.ts';
import type { CallMeasurements, Measurements } from '../metrics/types.ts';
import type { Board, Calls } from './board.ts';

/** How often calls are told to the others, in milliseconds. */
const PUBLISH_MS = 200;
/** Rates change without any call, and tenants may be many. Both are told each so many times. */
const ALL_EVERY = 5;
/** An answer asks for every category; what it reads once serves for all of them, in milliseconds. */
const READ_MS = 20;

export interface SharedCallsOptions {
  /** `undefined` as long as this process is in no cluster. */
  readonly board: () => Board | undefined;
  /** Of this process. */
  readonly own: Measurements;
  readonly gate: Pick<Gate, 'categories' | 'tenantCalls'>;
  readonly clock: { monotonic(): number };
  readonly schedule: Schedule;
}

/** Measurements in which the calls are those of all processes of the cluster together. */
export interface SharedCalls extends Measurements {
  close(): void;
}

/** Tells the other processes of a cluster what this one emitted, and adds what they told. */
export function shareCalls({ board, own, gate, clock, schedule }: SharedCallsOptions): SharedCalls {
  const published = new Map<string, { readonly total: number; readonly rate: number }>();
  const read = new Map<string, { readonly at: number; readonly calls: ReturnType<Board['callsOfOthers']> }>();
  let beats = 0;

  function* emitted(all: boolean): Generator<Calls> {
    for (const { index, name } of gate.categories()) {
      const total = own.callsTotal(index);
      if (total > 0) yield { tenant: '', category: name, total, rate: own.callsPerSecond(index) };
    }
    if (!all) return;
    for (const [tenant, index, total] of gate.tenantCalls.entries()) {
      const category = gate.categories()[index]?.name ?? '';
      yield { tenant, category, total, rate: own.ofTenant(tenant).callsPerSecond(index) };
    }
  }

  function publish(all: boolean): void {
    const to = board();
    if (to === undefined) return;
    const news: Calls[] = [];
    for (const calls of emitted(all)) {
      const key = `${calls.tenant}\n${calls.category}`;
      const before = published.get(key);
      if (before?.total === calls.total && (!all || before.rate === calls.rate)) continue;
      published.set(key, calls);
      news.push(calls);
    }
    to.publishCalls(news);
  }

  function guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      diagnostics.error('rdcp: the calls of this process were not told to its cluster', error);
    }
  }

  function ofOthers(tenant: string): ReturnType<Board['callsOfOthers']> | undefined {
    const from = board();
    if (from === undefined) return undefined;
    const now = clock.monotonic();
    const known = read.get(tenant);
    if (known !== undefined && now - known.at < READ_MS) return known.calls;
    guarded(() => {
      read.clear();
      read.set(tenant, { at: now, calls: from.callsOfOthers(tenant) });
    });
    return read.get(tenant)?.calls;
  }

  function together(tenant: string, calls: CallMeasurements): CallMeasurements {
    const others = (index: number) => ofOthers(tenant)?.get(gate.categories()[index]?.name ?? '');
    return {
      callsTotal: (index) => calls.callsTotal(index) + (others(index)?.total ?? 0),
      callsPerSecond: (index) => calls.callsPerSecond(index) + (others(index)?.rate ?? 0),
    };
  }

  const stop = schedule(PUBLISH_MS, () => {
    beats += 1;
    guarded(() => publish(beats % ALL_EVERY === 0));
  });
  return {
    ...together('', own),
    ofTenant: (tenant) => together(tenant, own.ofTenant(tenant)),
    process: () => own.process(),
    close() {
      stop();
      guarded(() => publish(true));
    },
  };
}
