import type { AuditDraft } from '../audit/types.ts';
import { RdcpError } from '../errors.ts';
import type { Attachment, CategoryDescriptor, Gate, Sink } from '../gate/types.ts';
import type { ControlBudget } from '../protocol/messages.ts';
import { GLOBAL_SCOPE, type Overlay, type ScopeKey, type ScopeState, type Settings } from '../store/state-store.ts';
import type { Announcer, ChangeOrigin } from './announcer.ts';
import type { Provenance, ScopeStates } from './scope-states.ts';
import { type ControlLimits, effectiveState, type Snapshot, sameOverlay, settingState } from './transition.ts';
import type { CategoryView } from './types.ts';

/** What the owner of the service says of a category, over what the code registered. */
export interface CategoryOverride {
  readonly description?: string | undefined;
  readonly enabled?: boolean | undefined;
}

/** What the gate is bound with. */
export interface GateOptions {
  readonly gate: Gate;
  readonly sink: Sink;
  readonly limits: ControlLimits & { readonly maxCategories: number };
  /** What the configuration says of categories, over what the code registered. */
  readonly overrides: Readonly<Record<string, CategoryOverride>>;
  /** Count the calls of each tenant as well. @default false */
  readonly countsTenants?: boolean;
  /** The tenant of the current work where no `runWithTenant` names one. @default none */
  readonly currentTenant?: (() => string | undefined) | undefined;
  /**
   * Limits what a category emits, for a tenant where one is named; `undefined`: as it is configured. `exhausted` is called
   * when a total is used up. @default nothing is limited
   */
  readonly limit?: (
    category: CategoryDescriptor,
    tenantId: string | undefined,
    budget: ControlBudget | false | undefined,
    exhausted: () => void,
  ) => void;
  /** Gets what goes wrong outside any request. */
  readonly report: (error: unknown) => void;
}

export interface GateBindingOptions extends GateOptions {
  readonly states: ScopeStates;
  readonly announcer: Announcer;
  /** Called when the budget of a control is used up, from inside a debug call. */
  readonly exhausted: (key: ScopeKey, category: string) => void;
  /** The tenant whose calls are decided by a scope; `undefined` for a scope that is not ours. */
  readonly tenantOf: (key: ScopeKey) => string | undefined;
  /**
   * Called when a scope has become what the store holds.
   * @param before what it was until then, where some of it was of this process alone
   * @param local what of it was of this process alone
   */
  readonly adopted: (key: ScopeKey, before: Snapshot | undefined, local: ReadonlyMap<string, Overlay>) => void;
}

/** Where the state of a scope comes from. */
interface Adoption {
  /** A change of this process. */
  readonly own?: { readonly draft: AuditDraft; readonly expectedRevision: number };
  readonly provenance?: Provenance | undefined;
}

/** A registered category, as the configuration has it. */
type CatalogueEntry = Pick<CategoryView, 'index' | 'name' | 'description' | 'defaultEnabled'>;

/** Scopes whose views are kept. Few are read again and again; a view of thousands of categories takes some room. */
const MAX_VIEWS = 16;

/** Binds the gate to what this process knows of the scopes: whatever a scope becomes, the gate follows. */
export class GateBinding {
  /** State of each registered category where nothing was switched. */
  readonly defaults: Map<string, boolean> = new Map();
  /** False while the whole instrumentation is switched off. */
  enabled = true;
  readonly #options: GateBindingOptions;
  readonly #attachment: Attachment;
  /** Positions of the registered categories in the gate. */
  readonly #indexes = new Map<string, number>();
  /** Scopes with a setting for a category that is not registered yet. */
  readonly #waiting = new Map<string, Set<ScopeKey>>();
  /** Controls whose budget is in force, by scope and category. */
  readonly #limited = new Map<string, Overlay>();
  readonly #views = new Map<ScopeKey, readonly CategoryView[]>();
  #sorted: readonly CatalogueEntry[] | undefined;
  /** Categories of the sorted list whose description may still be filled in, which is announced by no event. */
  #undescribed: readonly CategoryDescriptor[] = [];

  /**
   * Takes the gate over, at once with every category's default.
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

  /** What a command of the scope meets. */
  snapshot(key: ScopeKey): Snapshot {
    const { states, limits } = this.#options;
    return { ...states.layers(key), defaults: this.defaults, limits, ended: states.endedTogether() };
  }

  /** Takes over what a scope has become for all processes. */
  adopt(key: ScopeKey, state: ScopeState, { own, provenance }: Adoption = {}): void {
    const { states, announcer, tenantOf, adopted } = this.#options;
    if (key !== GLOBAL_SCOPE && tenantOf(key) === undefined) return;
    const known = states.stored(key).revision;
    // Word of a later change may have come before the answer to our own.
    if (own !== undefined && known !== own.expectedRevision && known >= state.revision) {
      announcer.own(key, state.revision, own.draft);
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
      draft: own?.draft,
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

  /** Takes back temporary controls of this process alone. */
  dropLocal(key: ScopeKey, categories: readonly string[]): void {
    this.#changeLocal(key, categories, {}, () => this.#options.states.dropLocal(key, categories));
  }

  /** Ends what is over. */
  sweep(): void {
    const { states, announcer } = this.#options;
    const { clockSet, ended } = states.sweep();
    if (clockSet) this.#views.clear();
    for (const [key, categories] of ended) {
      this.#apply(key, categories, states.settings(key));
      announcer.ended(key, this.snapshot(key), categories);
    }
  }

  /** Every category as a scope sees it, sorted by name; the same array for all who ask between two changes. */
  view(key: ScopeKey): readonly CategoryView[] {
    const categories = this.#catalogue();
    const known = this.#views.get(key);
    if (known !== undefined) return known;
    if (this.#views.size >= MAX_VIEWS) this.#views.clear();
    const { states } = this.#options;
    const layers = states.layers(key);
    const ended = states.endedTogether();
    const view = categories.map((category) => {
      const { enabled, overlay, origin } = effectiveState(category.name, layers, category.defaultEnabled, ended);
      return {
        ...category,
        enabled: this.enabled && enabled,
        temporary: overlay !== undefined,
        origin,
        ...(overlay !== undefined && { expiresAt: overlay.expiresAt }),
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

  /** Makes the gate follow what a scope says of some categories. Those that are not registered yet follow when they are. */
  #apply(key: ScopeKey, categories: Iterable<string>, settings: Settings): void {
    for (const name of categories) this.#applyOne(key, name, settings);
    this.#views.clear();
  }

  /** A tenant's setting is an override of the gate; the global one and the default are its base. */
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
      this.#attachment.setBase(index, state?.enabled ?? this.defaults.get(name) === true);
      return;
    }
    const tenantId = tenantOf(key);
    if (tenantId !== undefined) {
      const state = settingState(setting, 'tenant', states.ended);
      this.#limit(key, name, index, tenantId, state?.overlay);
      this.#attachment.setTenant(tenantId, index, state?.enabled);
    }
  }

  /** Puts the budget of a control in force once: what is used up of it must not come back. */
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

  /** Sorted by name, in the order of UTF-16 code units. Made again when a category came, or its description did. */
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
