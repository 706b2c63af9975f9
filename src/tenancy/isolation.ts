import type { ResolvedConfig } from '../config.ts';
import type { Scope } from '../control/types.ts';
import { EVERYBODY, type IsolationLevel } from '../protocol/constants.ts';
import type { TenantContext } from '../protocol/messages.ts';
import { isIdentifier } from '../protocol/names.ts';
import { GLOBAL_SCOPE, type ScopeKey, type StateStore } from '../store/state-store.ts';
import { createNamespacedStore } from './namespaced-store.ts';
import { createProcessStore } from './process-store.ts';

export type TenancyConfig = ResolvedConfig['tenancy'];

/** What an isolation level keeps apart. */
interface Separation {
  /** Each tenant has settings of its own, over those for everybody. */
  readonly settings: boolean;
  /** A tenant sees its own calls alone, and nothing measured of the process that it shares. */
  readonly metrics: boolean;
}

/** Beside this table, `process` keeps state out of the store, and `namespace` keeps it under the namespace's name. */
const SEPARATION: Readonly<Record<IsolationLevel, Separation>> = {
  global: { settings: false, metrics: false },
  process: { settings: true, metrics: false },
  namespace: { settings: true, metrics: false },
  organization: { settings: true, metrics: true },
};

/** What the configured isolation level means. Without multi-tenancy everything is everybody's. */
export interface Isolation {
  /** `undefined` without multi-tenancy. */
  readonly level: IsolationLevel | undefined;
  /** Whether a tenant sees its own calls alone. */
  readonly separatesMetrics: boolean;
  /** Where a tenant's settings are, or, without a tenant, those for everybody. */
  scopeOf(tenantId: string | undefined): Scope;
  /** What answers say of it; `undefined` without multi-tenancy. */
  contextOf(tenantId: string | undefined): TenantContext | undefined;
  /** The tenant whose calls are decided by a scope; `undefined` for a scope that is not in force at this level. */
  tenantOf(key: ScopeKey): string | undefined;
  /** The store as far as this level shares it. */
  storeFor(store: StateStore): StateStore;
}

const FOR_EVERYBODY: Scope = { key: GLOBAL_SCOPE };

export function createIsolation(tenancy: TenancyConfig): Isolation {
  const level = tenancy === false ? undefined : tenancy.isolation;
  const separation = level === undefined ? undefined : SEPARATION[level];
  const apart = separation?.settings === true;
  return {
    level,
    separatesMetrics: separation?.metrics === true,
    scopeOf: (tenantId) => (apart && tenantId !== undefined ? { key: tenantId, tenantId } : FOR_EVERYBODY),
    contextOf: (tenantId) =>
      level && {
        id: tenantId ?? EVERYBODY,
        isolationLevel: level,
        scope: apart && tenantId !== undefined ? 'tenant-isolated' : 'global',
      },
    // Another service may keep namespaces in the same store: those keys are no identifiers.
    tenantOf: (key) => (apart && isIdentifier(key) ? key : undefined),
    storeFor: (store) => {
      if (level === 'process') return createProcessStore(store);
      const namespace = tenancy === false ? undefined : tenancy.namespace;
      return namespace === undefined ? store : createNamespacedStore(store, namespace);
    },
  };
}
