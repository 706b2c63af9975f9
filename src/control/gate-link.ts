import { RdcpError } from '../errors.ts';
import type { Gate, Sink } from '../gate/types.ts';
import { GLOBAL_SCOPE, type ScopeKey } from '../store/state-store.ts';
import { type Catalogue, type CategoryOverride, createCatalogue } from './catalogue.ts';
import type { Ledger } from './ledger.ts';
import { settingState } from './state.ts';

export interface GateLinkOptions {
  readonly gate: Gate;
  readonly sink: Sink;
  readonly ledger: Ledger;
  readonly maxCategories: number;
  /** Count the calls of each tenant as well. @default false */
  readonly countsTenants?: boolean;
  /** The tenant of the current work where no `runWithTenant` names one. @default nobody */
  readonly currentTenant?: (() => string | undefined) | undefined;
  readonly overrides: Readonly<Record<string, CategoryOverride>>;
  /** The tenant whose calls are decided by a scope; `undefined` for a scope that is none of ours. */
  readonly tenantOf: (key: ScopeKey) => string | undefined;
  /** Called when the state of a category may have become another one, by a command, by time or by registration. */
  readonly changed: () => void;
  readonly report: (error: unknown) => void;
}

/** The gate, made to follow the ledger. */
export interface GateLink {
  readonly catalogue: Catalogue;
  /** Makes the gate follow what a scope says of some categories. Those that are not registered yet follow when they are. */
  apply(key: ScopeKey, categories: Iterable<string>): void;
  suspend(suspended: boolean): void;
  detach(): void;
}

/**
 * Takes the gate over, at once with every category's default.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` when there are more categories than the limit
 */
export function linkGate(options: GateLinkOptions): GateLink {
  const { gate, sink, ledger, maxCategories, countsTenants = false, currentTenant } = options;
  const { overrides, tenantOf, changed, report } = options;
  const catalogue = createCatalogue(gate, overrides);
  /** Scopes with a setting for a category that is not registered yet. */
  const waiting = new Map<string, Set<ScopeKey>>();

  /** A tenant's setting is an override of the gate; the global one and the default are its base. */
  function applyOne(key: ScopeKey, name: string): void {
    const index = catalogue.indexOf(name);
    if (index === undefined) {
      waiting.set(name, (waiting.get(name) ?? new Set()).add(key));
      return;
    }
    const setting = ledger.settings(key).get(name);
    if (key === GLOBAL_SCOPE) {
      const on = settingState(setting, 'global', ledger.ended)?.enabled ?? catalogue.defaults.get(name) === true;
      attachment.setBase(index, on);
      return;
    }
    const tenantId = tenantOf(key);
    if (tenantId !== undefined) {
      attachment.setTenant(tenantId, index, settingState(setting, 'tenant', ledger.ended)?.enabled);
    }
  }

  const attachment = gate.attach({
    sink,
    maxCategories,
    countsTenants,
    ...(currentTenant && { currentTenant }),
    registered(category) {
      catalogue.add(category);
      const scopes = waiting.get(category.name) ?? [];
      waiting.delete(category.name);
      for (const key of scopes) applyOne(key, category.name);
      applyOne(GLOBAL_SCOPE, category.name);
      changed();
    },
    failed: (_category, error) => report(error),
  });
  try {
    for (const name of Object.keys(overrides)) gate.category(name);
  } catch (cause) {
    attachment.detach();
    throw new RdcpError('RDCP_CONFIG_INVALID', 'configuration: categories are more than limits.maxCategories', {
      details: { field: 'categories' },
      cause,
    });
  }
  for (const name of catalogue.defaults.keys()) applyOne(GLOBAL_SCOPE, name);

  return {
    catalogue,
    apply(key, categories) {
      for (const name of categories) applyOne(key, name);
      changed();
    },
    suspend: (suspended) => attachment.suspend(suspended),
    detach: () => attachment.detach(),
  };
}
