// What tenants with overrides cost in memory, gate and control state together, on a service of 1,024 categories: as they
// are loaded from a store outside the process, and as commands make them with the store in memory, which then holds them
// as well. Each number of tenants is measured in what it adds to the one before, so that growth that is not linear shows.

import { setImmediate } from 'node:timers/promises';
import type { ScopeState, Setting, StateStore } from '../src/store/state-store.ts';
import type { AuditRecorder } from '../src/trail/types.ts';
import type { AuditEntry } from '../src/wire/audit-messages.ts';
import { internals, publish, type Verdict, verdict } from './measurement.ts';

const { GateCore, ControlPlane, createMemoryStore, systemClock } = await internals();

const CATEGORIES = 1024;
const STEPS = [2_500, 5_000, 10_000];
const MOST_BYTES = 2048;
const HOUR_MS = 3_600_000;

/** An entry of which nothing is kept: the trail is not what is measured. */
const audit: AuditRecorder = {
  append: (draft, commit) => commit({ ...draft, compliance: {} } as unknown as AuditEntry),
  defer: () => true,
};

function startPlane(store: StateStore) {
  const gate = new GateCore();
  for (let index = 0; index < CATEGORIES; index++) gate.category(`POOL_${index}`);
  return new ControlPlane({
    gate,
    store,
    audit,
    sink: { emit: () => undefined, span: (_category, _name, fn) => fn() },
    clock: systemClock,
    delay: (milliseconds, task) => {
      const timer = setTimeout(task, milliseconds).unref();
      return () => clearTimeout(timer);
    },
    limits: { defaultDuration: 900, maxDuration: 86_400, maxTemporary: 100, maxCategories: 4096 },
    overrides: {},
    report: console.error,
  });
}

/**
 * The categories that a tenant overrides: others for each. Parsed from JSON, as stores and requests bring them: V8 shares
 * strings of up to ten characters then.
 */
function overridden(tenant: number, count: number): string[] {
  const names = Array.from({ length: count }, (_, k) => `POOL_${(tenant * 7 + k * 101) % CATEGORIES}`);
  return JSON.parse(JSON.stringify(names));
}

async function bytesInUse(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    await setImmediate();
    globalThis.gc?.();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Everything that was measured: what is freed while the next is measured would count for it. */
const kept: unknown[] = [];

/** Bytes that a way of having tenants adds, at each of the steps. */
async function growth(prepare: () => { readonly add: (tenant: number) => Promise<unknown>; readonly all: unknown }) {
  const { add, all } = prepare();
  kept.push(all);
  await add(0);
  const before = await bytesInUse();
  const grown: number[] = [];
  let tenant = 1;
  for (const step of STEPS) {
    for (; tenant <= step; tenant++) await add(tenant);
    grown.push((await bytesInUse()) - before);
  }
  return grown;
}

/** What a store outside the process tells, and forgets. */
function told(permanent: number, temporary: number) {
  let tell: (key: string, state: ScopeState) => void = () => undefined;
  const store: StateStore = {
    ...createMemoryStore(),
    subscribe: (listener) => {
      tell = listener;
      return () => undefined;
    },
  };
  const plane = startPlane(store);
  const started = plane.start();
  const now = Date.now();
  return {
    all: plane,
    add: async (tenant: number) => {
      await started;
      const names = overridden(tenant, permanent + temporary);
      const settings = names.map((name, k): [string, Setting] => [
        name,
        k < permanent
          ? { permanent: k % 2 === 0 }
          : { temporary: { enabled: true, expiresAt: now + HOUR_MS + tenant * 10 + k } },
      ]);
      tell(`tenant-${tenant}`, { revision: 1, settings: new Map(settings), changedAt: now + tenant });
    },
  };
}

/** What commands leave behind, in the plane and in a store in memory. */
function commanded(permanent: number) {
  const store = createMemoryStore({ maxAuditEntries: 1, maxReplays: 1 });
  const plane = startPlane(store);
  const started = plane.start();
  return {
    all: [plane, store],
    add: async (tenant: number) => {
      await started;
      const tenantId = `tenant-${tenant}`;
      return plane.control(
        { action: 'enable', categories: overridden(tenant, permanent) },
        { scope: { key: tenantId, tenantId }, identity: { method: 'api-key', userId: 'ops' }, requestId: 'r' },
      );
    },
  };
}

const cases = {
  'one override each': () => told(1, 0),
  '10 overrides each': () => told(10, 0),
  '10 overrides each, by commands, store in memory': () => commanded(10),
  '9 overrides and a temporary one each': () => told(9, 1),
};

const verdicts: Verdict[] = [];
for (const [name, prepare] of Object.entries(cases)) {
  const grown = await growth(prepare);
  const [half = 0, whole = 0] = grown.slice(-2);
  const perTenant = Math.round(whole / STEPS.at(-1)!);
  const met = perTenant <= MOST_BYTES;
  const measured = `${perTenant} bytes, twice as many: ${(whole / half).toFixed(2)}`;
  verdicts.push(verdict(`10,000 tenants, ${name}`, `<= ${MOST_BYTES} bytes each, linear`, measured, met, perTenant));
}
if (kept.length !== verdicts.length) throw new Error('something was not measured');
publish({ timings: [], verdicts });
