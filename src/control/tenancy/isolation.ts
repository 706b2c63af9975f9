import { propagation } from '@opentelemetry/api';
import type { ResolvedConfig } from '../../options/config.ts';
import { GLOBAL_SCOPE, type ScopeKey, type StateStore } from '../../store/state-store.ts';
import { EVERYBODY, type IsolationLevel } from '../../wire/constants.ts';
import type { TenantContext } from '../../wire/messages.ts';
import { isIdentifier } from '../../wire/names.ts';
import type { Scope } from '../types.ts';
import { createNamespacedStore } from './namespaced-store.ts';
import { createProcessStore } from './process-store.ts';

export type TenancyConfig = ResolvedConfig['tenancy'];

/** Settings and measurements that an isolation level separates. */
interface Separation {
  /** Each tenant has its own settings, which override the global ones. */
  readonly settings: boolean;
  /** A tenant sees only its own calls, and no measurements of the process. */
  readonly metrics: boolean;
}

/** In addition, `process` does not write state to the store, and `namespace` prefixes its keys with the namespace. */
const SEPARATION: Readonly<Record<IsolationLevel, Separation>> = {
  global: { settings: false, metrics: false },
  process: { settings: true, metrics: false },
  namespace: { settings: true, metrics: false },
  organization: { settings: true, metrics: true },
};

/** The effects of the configured isolation level. Without multi-tenancy all settings are global. */
export type Isolation = ReturnType<typeof createIsolation>;

const FOR_EVERYBODY: Scope = { key: GLOBAL_SCOPE };

export function createIsolation(tenancy: TenancyConfig) {
  const level = tenancy === false ? undefined : tenancy.isolation;
  const separation = level === undefined ? undefined : SEPARATION[level];
  const baggageKey = tenancy === false ? undefined : tenancy.baggageKey;
  const apart = separation?.settings === true;
  return {
    /** `undefined` without multi-tenancy. */
    level,
    /** Whether a tenant sees only its own calls. */
    separatesMetrics: separation?.metrics === true,
    /** The scope of a tenant's settings, or the global scope without a tenant. */
    scopeOf: (tenantId: string | undefined): Scope =>
      apart && tenantId !== undefined ? { key: tenantId, tenantId } : FOR_EVERYBODY,
    /** The tenant context of a response; `undefined` without multi-tenancy. */
    contextOf: (tenantId: string | undefined): TenantContext | undefined =>
      level && {
        id: tenantId ?? EVERYBODY,
        isolationLevel: level,
        scope: apart && tenantId !== undefined ? 'tenant-isolated' : 'global',
      },
    /**
     * The tenant whose calls a scope controls; `undefined` for a scope that this level does not use. The store may hold scopes of
     * another service's namespace, whose keys are not identifiers.
     */
    tenantOf: (key: ScopeKey): string | undefined => (apart && isIdentifier(key) ? key : undefined),
    /** The tenant of the current work where baggage names it; `undefined` without a configured key. */
    currentTenant: baggageKey === undefined ? undefined : baggageTenant(baggageKey),
    /** Wraps the store for this level. */
    storeFor(store: StateStore): StateStore {
      if (level === 'process') return createProcessStore(store);
      const namespace = tenancy === false ? undefined : tenancy.namespace;
      return namespace === undefined ? store : createNamespacedStore(store, namespace);
    },
  };
}

/** Returns a function that reads the tenant from the active OpenTelemetry baggage; `undefined` for an invalid tenant id. */
function baggageTenant(key: string): () => string | undefined {
  return () => {
    const value = propagation.getActiveBaggage()?.getEntry(key)?.value;
    return value !== undefined && isIdentifier(value) ? value : undefined;
  };
}
