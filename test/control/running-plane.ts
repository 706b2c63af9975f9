import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { ControlPlane, type ControlPlaneOptions } from '../../src/control/plane.ts';
import type { CategoryView, CommandContext, Scope } from '../../src/control/types.ts';
import { GateCore } from '../../src/gate/core.ts';
import type { LogRecord } from '../../src/otel/telemetry.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { GLOBAL_SCOPE, type StateStore } from '../../src/store/state-store.ts';
import { createAuditTrail } from '../../src/trail/trail.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import type { ControlRequest } from '../../src/wire/control-request.ts';
import { isRdcpError } from '../../src/wire/errors.ts';
import { virtualTime } from '../support/virtual-time.ts';
import { breakableStore } from './breakable-store.ts';

export const GLOBAL: Scope = { key: GLOBAL_SCOPE };
export const ACME: Scope = { key: 'acme', tenantId: 'acme' };
export const HOUR = 3_600_000;
export const YEAR = 365 * 24 * HOUR;

export interface Setup {
  readonly store?: StateStore;
  readonly time?: ReturnType<typeof virtualTime>;
  readonly options?: Partial<ControlPlaneOptions>;
  /** @default true */
  readonly start?: boolean;
}

/** A plane on a gate, a store and a trail that are all real, in a time that is moved by hand. */
export async function startPlane({
  store = createMemoryStore(),
  time = virtualTime(),
  options = {},
  start = true,
}: Setup = {}) {
  const gate = new GateCore();
  const database = gate.category('DATABASE');
  gate.category('CACHE', { enabled: true });
  const records: LogRecord[] = [];
  const reports: unknown[] = [];
  const report = (error: unknown) => void reports.push(error);
  const audit = createAuditTrail({
    store,
    telemetry: { logger: { emit: (record) => void records.push(record) } },
    clock: time.clock,
    schedule: time.schedule,
    chain: { securityLevel: 'basic', instanceId: randomUUID(), retentionDays: 90 },
    randomUUID,
    report,
  });
  const plane = new ControlPlane({
    gate,
    store,
    audit,
    sink: { emit: () => undefined, span: (_category, _name, fn) => fn() },
    clock: time.clock,
    delay: time.delay,
    limits: { defaultDuration: 900, maxDuration: 86_400, maxTemporary: 100, maxCategories: 4096 },
    overrides: {},
    report,
    ...options,
  });
  if (start) await plane.start();
  return {
    gate,
    database,
    plane,
    audit,
    time,
    store,
    records,
    reports,
    control: (request: ControlRequest, context: Partial<CommandContext> = {}) =>
      plane.control(request, {
        scope: GLOBAL,
        identity: { method: 'api-key', userId: 'ops' },
        requestId: 'r-1',
        ...context,
      }),
    stateOf: (scope: Scope = GLOBAL, name = 'DATABASE'): CategoryView => {
      const view = plane.view(scope).find((category) => category.name === name);
      assert.ok(view);
      return view;
    },
    trail: async (): Promise<readonly AuditEntry[]> => (await audit.query({ limit: 1000 })).entries,
  };
}

/** A plane on a store that can be made to fail, and to tell of changes. */
export async function startShared(setup: Omit<Setup, 'store'> = {}) {
  const shared = breakableStore();
  return { shared, ...(await startPlane({ ...setup, store: shared.store })) };
}

export const enable = (seconds?: number): ControlRequest => ({
  action: 'enable',
  categories: ['DATABASE'],
  ...(seconds !== undefined && { options: { duration: seconds } }),
});

export async function code(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    assert.ok(isRdcpError(error), String(error));
    return error.code;
  }
  return 'none';
}
