import type { AuditDraft } from '../audit/types.ts';
import { RdcpError } from '../errors.ts';
import type { Attachment, CategoryDescriptor, Gate, Sink } from '../gate/types.ts';
import type { ControlBudget } from '../protocol/messages.ts';
import {
  GLOBAL_SCOPE,
  type Maker,
  type Overlay,
  type ScopeKey,
  type ScopeState,
  type Settings,
} from '../store/state-store.ts';
import type { Announcer, ChangeOrigin } from './announcer.ts';
import type { Provenance, ScopeStates } from './scope-states.ts';
import { type ControlLimits, effectiveState, type Snapshot, sameOverlay, settingState } from './transition.ts';
import type { CategoryView } from './types.ts';

/** The configuration's settings for a category, which override those in code. */
export interface CategoryOverride {
  readonly description?: string | undefined;
  readonly enabled?: boolean | undefined;
}

/** Options for binding the gate. */
export interface GateOptions {
  readonly gate: Gate;
  readonly sink: Sink;
  readonly limits: ControlLimits & { readonly maxCategories: number };
  /** The configuration's settings for categories, which override those in code. */
  readonly overrides: Readonly<Record<string, CategoryOverride>>;
  /** Count the calls of each tenant as well. @default false */
  readonly countsTenants?: boolean;
  /** The tenant of the current work when no `runWithTenant` names one. @default none */
  readonly currentTenant?: (() => string | undefined) | undefined;
  /**
   * Limits what a category emits, for one tenant when an id is given; `undefined` restores the configured budget.
   * `exhausted` is called when a total is used up.
   * @default nothing is limited
   */
  readonly limit?: (
    category: CategoryDescriptor,
    tenantId: string | undefined,
    budget: ControlBudget | false | undefined,
    exhausted: () => void,
  ) => void;
  /** Receives errors that occur outside any request. */
  readonly report: (error: unknown) => void;
}

export interface GateBindingOptions extends GateOptions {
  readonly states: ScopeStates;
  readonly announcer: Announcer;
  /** Called from inside a debug call when the budget of a control is used up. */
  readonly exhausted: (key: ScopeKey, category: string) => void;
  /** The tenant whose calls a scope decides; `undefined` for a foreign scope. */
  readonly tenantOf: (key: ScopeKey) => string | undefined;
  /**
   * Called when a scope was replaced by what the store holds.
   * @param before the scope until then, when it had local controls
   * @param local the local controls it had
   */
  readonly adopted: (key: ScopeKey, before: Snapshot | undefined, local: ReadonlyMap<string, Overlay>) => void;
}

/** Where a new state of a scope comes from. */
interface Adoption {
  /** The audit entry of a change made by this process. */
  readonly draft?: AuditDraft;
  /** For what the store answered to a commit: the revision that the commit was computed on. */
  readonly expectedRevision?: number;
  readonly provenance?: Provenance | undefined;
}

/** A registered category with the configuration's overrides applied. */
type CatalogueEntry = Pick<CategoryView, 'index' | 'name' | 'description' | 'defaultEnabled'>;

/** Scopes whose views are cached. Few scopes are read often, and a view of thousands of categories is large. */
const MAX_VIEWS = 16;

/** Binds the gate to the scope states: every change of a scope is applied to the gate. */
export class GateBinding {
  /** Default state of each registered category. */
  readonly defaults: Map<string, boolean> = new Map();
  /** False while the whole instrumentation is switched off. */
  enabled = true;
  readonly #options: GateBindingOptions;
  readonly #attachment: Attachment;
  /** Gate indexes of the registered categories. */
  readonly #indexes = new Map<string, number>();
  /** Scopes with a setting for a category that is not registered yet. */
  readonly #waiting = new Map<string, Set<ScopeKey>>();
  /** Controls whose budget is in force, by scope and category. */
  readonly #limited = new Map<string, Overlay>();
  readonly #views = new Map<ScopeKey, readonly CategoryView[]>();
  #sorted: readonly CatalogueEntry[] | undefined;
  /** Categories of the sorted list without a description. One may be added later without an event. */
  #undescribed: readonly CategoryDescriptor[] = [];

  /**
   * Attaches to the gate, with every category at its default.
   * @throws {RdcpError} `RDCP_CONFIG_INVALID` when there are more categories than the limit
   */
  constructor(options: GateBindingOptions) {
    const { gate, sink, limits, countsTenants = false, currentTenant, overrides, report } = options;
    this.#options = options;
    for (const category of gate.categories()) this.#add(category);
    this.#attachment = gate.attach({
      sink,
      maxCategories: limits.maxCategories,
      countsTenants,
      ...(currentTenant && { currentTenant }),
      registered: (category) => this.#register(category),
      failed: (_category, error) => report(error),
    });
    try {
      for (const name of Object.keys(overrides)) gate.category(name);
    } catch (cause) {
      this.detach();
      throw new RdcpError('RDCP_CONFIG_INVALID', 'configuration: categories are more than limits.maxCategories', {
        details: { field: 'categories' },
        cause,
      });
    }
    this.#apply(GLOBAL_SCOPE, this.defaults.keys(), options.states.settings(GLOBAL_SCOPE));
  }

  /** The state on which a command for the scope is computed. */
  snapshot(key: ScopeKey): Snapshot {
    const { states, limits } = this.#options;
    return { ...states.layers(key), defaults: this.defaults, limits, ended: states.endedTogether() };
  }

  /** Applies the stored state of a scope. */
  adopt(key: ScopeKey, state: ScopeState, { draft, expectedRevision, provenance }: Adoption = {}): void {
    const { states, announcer, tenantOf, adopted } = this.#options;
    if (key !== GLOBAL_SCOPE && tenantOf(key) === undefined) return;
    const known = states.stored(key).revision;
    // The message of a later change may arrive before the answer to a commit.
    if (expectedRevision !== undefined && known !== expectedRevision && known >= state.revision) {
      if (draft !== undefined) announcer.own(key, state.revision, draft);
      return;
    }
    const before = states.settings(key);
    const local = states.local(key);
    const snapshot = local.size > 0 ? this.snapshot(key) : undefined;
    const touched = states.adopt(key, state, provenance);
    this.#apply(key, touched, states.settings(key));
    for (const category of local.keys()) touched.add(category);
    const { revision, changedAt } = state;
    announcer.change(key, before, this.snapshot(key), touched, {
      draft,
      revision,
      changedAt,
      restored: provenance?.restored,
    });
    adopted(key, snapshot, local);
  }

  /** Puts temporary controls in force in this process alone. */
  addLocal(key: ScopeKey, overlays: ReadonlyMap<string, Overlay>, origin: ChangeOrigin): void {
    this.#changeLocal(key, [...overlays.keys()], origin, () => this.#options.states.addLocal(key, overlays));
  }

  /** Removes local temporary controls. */
  dropLocal(key: ScopeKey, categories: readonly string[]): void {
    this.#changeLocal(key, categories, {}, () => this.#options.states.dropLocal(key, categories));
  }

  /** Ends temporary controls that have expired or used up their budget. */
  sweep(): void {
    const { states, announcer } = this.#options;
    const { clockSet, ended } = states.sweep();
    if (clockSet) this.#views.clear();
    for (const [key, categories] of ended) {
      this.#apply(key, categories, states.settings(key));
      announcer.ended(key, this.snapshot(key), categories);
    }
  }

  /** Every category as a scope sees it, sorted by name. The array is cached until the next change. */
  view(key: ScopeKey): readonly CategoryView[] {
    const categories = this.#catalogue();
    const known = this.#views.get(key);
    if (known !== undefined) return known;
    if (this.#views.size >= MAX_VIEWS) this.#views.clear();
    const { states } = this.#options;
    const layers = states.layers(key);
    const ended = states.endedTogether();
    // A tenant does not learn who decides for everybody.
    const own = (by: Maker, name: string) => {
      const setting = layers.tenant?.get(name);
      return layers.tenant === undefined || setting?.by === by || setting?.temporary?.by === by;
    };
    const view = categories.map((category) => {
      const { enabled, overlay, origin, by } = effectiveState(category.name, layers, category.defaultEnabled, ended);
      return {
        ...category,
        enabled: this.enabled && enabled,
        temporary: overlay !== undefined,
        origin,
        ...(overlay !== undefined && { expiresAt: overlay.expiresAt }),
        ...(by !== undefined && own(by, category.name) && { by }),
      };
    });
    this.#views.set(key, view);
    return view;
  }

  setEnabled(enabled: boolean): void {
    this.enabled = enabled;
    this.#attachment.suspend(!enabled);
    this.#views.clear();
  }

  detach(): void {
    this.#attachment.detach();
  }

  #changeLocal(key: ScopeKey, categories: readonly string[], origin: ChangeOrigin, change: () => void): void {
    const { states, announcer } = this.#options;
    const before = states.settings(key);
    change();
    this.#apply(key, categories, states.settings(key));
    announcer.change(key, before, this.snapshot(key), categories, origin);
  }

  /**
   * Applies a scope's settings for some categories to the gate. Unregistered categories follow when they are
   * registered.
   */
  #apply(key: ScopeKey, categories: Iterable<string>, settings: Settings): void {
    for (const name of categories) this.#applyOne(key, name, settings);
    this.#views.clear();
  }

  /** A tenant's setting is an override in the gate; the global setting or the default is its base. */
  #applyOne(key: ScopeKey, name: string, settings: Settings): void {
    const { states, tenantOf } = this.#options;
    const index = this.#indexes.get(name);
    if (index === undefined) {
      this.#waiting.set(name, (this.#waiting.get(name) ?? new Set()).add(key));
      return;
    }
    const setting = settings.get(name);
    if (key === GLOBAL_SCOPE) {
      const state = settingState(setting, 'global', states.ended);
      this.#limit(key, name, index, undefined, state?.overlay);
      const settled = state !== undefined || this.#options.overrides[name]?.enabled !== undefined;
      this.#attachment.setBase(index, state?.enabled ?? this.defaults.get(name) === true, settled);
      return;
    }
    const tenantId = tenantOf(key);
    if (tenantId !== undefined) {
      const state = settingState(setting, 'tenant', states.ended);
      this.#limit(key, name, index, tenantId, state?.overlay);
      this.#attachment.setTenant(tenantId, index, state?.enabled);
    }
  }

  /** Applies the budget of a control once, so that what was spent of it does not come back. */
  #limit(key: ScopeKey, name: string, index: number, tenantId: string | undefined, overlay: Overlay | undefined): void {
    const { gate, limit, exhausted } = this.#options;
    const place = `${key} ${name}`;
    const before = this.#limited.get(place);
    const limited = overlay?.budget === undefined ? undefined : overlay;
    if (before === limited || sameOverlay(before, limited)) return;
    if (limited === undefined) this.#limited.delete(place);
    else this.#limited.set(place, limited);
    limit?.(gate.categories()[index]!, tenantId, limited?.budget, () => exhausted(key, name));
  }

  #register(category: CategoryDescriptor): void {
    this.#add(category);
    const scopes = this.#waiting.get(category.name) ?? [];
    this.#waiting.delete(category.name);
    for (const key of [...scopes, GLOBAL_SCOPE]) {
      this.#apply(key, [category.name], this.#options.states.settings(key));
    }
  }

  #add({ name, index, defaultEnabled }: CategoryDescriptor): void {
    this.defaults.set(name, this.#overrideOf(name)?.enabled ?? defaultEnabled);
    this.#indexes.set(name, index);
    this.#sorted = undefined;
  }

  #overrideOf(name: string): CategoryOverride | undefined {
    const { overrides } = this.#options;
    return Object.hasOwn(overrides, name) ? overrides[name] : undefined;
  }

  /** Sorted by name, in the order of UTF-16 code units. Rebuilt when a category or a description was added. */
  #catalogue(): readonly CatalogueEntry[] {
    if (this.#sorted !== undefined && this.#undescribed.every(({ description }) => description === '')) {
      return this.#sorted;
    }
    const registered = this.#options.gate.categories();
    this.#undescribed = registered.filter(
      ({ name, description }) => description === '' && !this.#overrideOf(name)?.description,
    );
    this.#views.clear();
    this.#sorted = [...this.#indexes]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, index]) => ({
        index,
        name,
        description: this.#overrideOf(name)?.description ?? registered[index]?.description ?? '',
        defaultEnabled: this.defaults.get(name) === true,
      }));
    return this.#sorted;
  }
}
