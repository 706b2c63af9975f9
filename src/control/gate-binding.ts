import { ANY_LEVEL, LEVEL } from '../gate/levels.ts';
import type { Attachment, CategoryDescriptor, Gate, Sink } from '../gate/types.ts';
import {
  type Activation,
  GLOBAL_SCOPE,
  type Overlay,
  type ScopeKey,
  type ScopeState,
  type Settings,
} from '../store/state-store.ts';
import type { AuditDraft } from '../trail/types.ts';
import type { OtherCategories } from '../wire/category-list.ts';
import type { ControlBudget } from '../wire/messages.ts';
import { patternMatcher } from '../wire/names.ts';
import { type Activate, ActiveParts, type WhileChosen } from './active-parts.ts';
import type { ChangeOrigin } from './announcer.ts';
import type { PlaneParts } from './plane.ts';
import { CHANGE_REFUSALS } from './refusals.ts';
import type { Provenance } from './scope-states.ts';
import { type ControlLimits, type EndCheck, type Snapshot, sameOverlay, settingState } from './transition.ts';
import type { CategoryOfProcess } from './types.ts';
import { type Catalogue, type DescribedCategory, Views } from './views.ts';

export interface CategoryOverride {
  readonly description?: string | undefined;
  readonly enabled?: boolean | undefined;
}

export interface ControlBudgets {
  /**
   * Limits what a category emits, for one tenant when an id is given; `undefined` restores the configured budget.
   * @param exhausted called from inside a debug call when a total is used up
   */
  setControl(
    category: CategoryDescriptor,
    tenantId: string | undefined,
    budget: ControlBudget | false | undefined,
    exhausted: () => void,
  ): void;
}

export interface ScopeTenants {
  /** The tenant whose calls a scope decides; `undefined` for the global scope, and for a foreign one in a shared store. */
  tenantOf(key: ScopeKey): string | undefined;
  /** The tenant of the current work when no `runWithTenant` names one. @default none */
  readonly currentTenant?: (() => string | undefined) | undefined;
}

export interface GateOptions {
  readonly gate: Gate;
  readonly sink: Sink;
  readonly limits: ControlLimits & { readonly maxCategories: number };
  readonly overrides: Readonly<Record<string, CategoryOverride>>;
  /** Count the calls of each tenant as well. @default false */
  readonly countsTenants?: boolean;
  /** @default nothing is limited */
  readonly budgets?: ControlBudgets;
  /** @default activations have no effect in this process */
  readonly activate?: Activate;
  /** Names and patterns of the categories that are recorded until somebody switches them off for everybody. @default none */
  readonly recorded?: readonly string[];
  /** Begins or ends to record all calls of a category. @default nothing is recorded */
  readonly setRecorded?: (category: CategoryDescriptor, isRecorded: boolean) => void;
  /** @default this process is chosen */
  readonly whileChosen?: WhileChosen;
  /** Receives errors that occur outside any request. */
  readonly report: (error: unknown) => void;
}

type GateBindingOptions = GateOptions & Pick<PlaneParts, 'alone' | 'states' | 'announcer' | 'isolation'>;

export interface BindingEvents {
  adopted(): void;
  /** The budget of a control is used up. Called from inside a debug call. */
  exhausted(control: Overlay | Activation): void;
}

interface Adoption {
  readonly draft?: AuditDraft;
  /** For what the store answered to a commit: the revision that the commit was computed on. */
  readonly expectedRevision?: number;
  readonly provenance?: Provenance | undefined;
}

/** Binds the gate to the scope states: every change of a scope is applied to the gate. */
export class GateBinding {
  readonly defaults: Map<string, boolean> = new Map();
  readonly views: Views;
  /** False while the whole instrumentation is switched off. */
  enabled = true;
  readonly #options: GateBindingOptions;
  readonly #attachment: Attachment;
  #events: BindingEvents | undefined;
  readonly #indexes = new Map<string, number>();
  /** Scopes with a setting for a category that is not registered yet. */
  readonly #waiting = new Map<string, Set<ScopeKey>>();
  /** Controls whose budget is in force, by scope and category. */
  readonly #limited = new Map<string, Overlay>();
  readonly #parts: ActiveParts;
  readonly #recorded: readonly ((name: string) => boolean)[];
  #sorted: readonly CategoryOfProcess[] | undefined;
  #others: OtherCategories = { processes: 0, categories: new Map() };
  #all: Catalogue | undefined;
  /** Categories of the sorted list without a description. One may be added later without an event. */
  #undescribed: readonly CategoryDescriptor[] = [];

  /**
   * Attaches to the gate, with every category at its default.
   * @throws {RdcpError} `RDCP_CONFIG_INVALID` when there are more categories than the limit
   */
  constructor(options: GateBindingOptions) {
    const { gate, sink, limits, countsTenants = false, overrides, report } = options;
    const { currentTenant } = options.isolation;
    this.#options = options;
    this.#recorded = (options.recorded ?? []).map((pattern) => patternMatcher(pattern));
    const tenantOf = (key: ScopeKey) => this.tenantOf(key);
    const catalogue = () => this.#catalogue();
    const enabled = () => this.enabled;
    const recorded = (name: string, ended: EndCheck) => this.#isRecorded(name, ended);
    this.views = new Views({ catalogue, defaults: this.defaults, enabled, recorded, states: options.states, tenantOf });
    this.#parts = new ActiveParts({
      activate: options.activate ?? (() => () => {}),
      whileChosen: options.whileChosen ?? ((_choice, begin) => begin()),
      category: (name) => gate.categories()[this.#indexes.get(name) ?? -1],
      tenantOf,
      exhausted: (activation) => this.#events?.exhausted(activation),
    });
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
      throw CHANGE_REFUSALS.manyCategories(cause);
    }
    this.#apply(GLOBAL_SCOPE, this.defaults.keys(), options.states.settings(GLOBAL_SCOPE));
  }

  subscribe(events: BindingEvents): void {
    this.#events = events;
  }

  tenantOf(key: ScopeKey): string | undefined {
    return key === GLOBAL_SCOPE ? undefined : this.#options.isolation.tenantOf(key);
  }

  /** The state on which a command for the scope is computed, and its stored revision. */
  snapshot(key: ScopeKey): Snapshot & { readonly revision: number } {
    const { states, limits, alone } = this.#options;
    const { defaults } = this.#catalogue();
    const { revision } = states.stored(key);
    const activations = states.activations(key);
    return { ...states.layers(key), activations, revision, defaults, alone, limits, ended: states.endedTogether() };
  }

  /** The same for announcements: a process announces changes of its own categories. */
  #announced(key: ScopeKey): Snapshot {
    return { ...this.snapshot(key), defaults: this.defaults };
  }

  setOthers(others: OtherCategories): void {
    this.#others = others;
    this.#all = undefined;
  }

  adopt(key: ScopeKey, state: ScopeState, { draft, expectedRevision, provenance }: Adoption = {}): void {
    const { states, announcer } = this.#options;
    if (key !== GLOBAL_SCOPE && this.tenantOf(key) === undefined) return;
    const known = states.stored(key).revision;
    // The message of a later change may arrive before the answer to a commit.
    if (expectedRevision !== undefined && known !== expectedRevision && known >= state.revision) {
      if (draft !== undefined) announcer.own(key, state.revision, draft);
      return;
    }
    const before = states.settings(key);
    const local = states.local(key);
    const activations = states.activations(key);
    const touched = states.adopt(key, state, provenance);
    this.#apply(key, touched, states.settings(key));
    this.#applyActivations(key);
    for (const category of local.keys()) touched.add(category);
    const { revision, changedAt } = state;
    const after = draft === undefined ? this.#announced(key) : this.snapshot(key);
    const origin = { draft, revision, changedAt, restored: provenance?.restored };
    announcer.change(key, before, after, touched, origin);
    announcer.activations(key, activations, states.activations(key), origin);
    this.#events?.adopted();
  }

  addLocal(key: ScopeKey, overlays: ReadonlyMap<string, Overlay>, origin: ChangeOrigin): void {
    this.#changeLocal(key, [...overlays.keys()], origin, () => this.#options.states.addLocal(key, overlays));
  }

  dropLocal(key: ScopeKey, categories: readonly string[]): void {
    this.#changeLocal(key, categories, {}, () => this.#options.states.dropLocal(key, categories));
  }

  sweep(): void {
    const { states, announcer } = this.#options;
    const { clockSet, ended } = states.sweep();
    if (clockSet) this.views.clear();
    for (const [key, categories] of ended) {
      this.#apply(key, categories, states.settings(key));
      this.#applyActivations(key);
      announcer.ended(key, this.#announced(key), categories);
      announcer.activationsEnded(key, states.activations(key).filter(states.ended));
    }
  }

  setEnabled(enabled: boolean): void {
    this.enabled = enabled;
    this.#attachment.suspend(!enabled);
    this.views.clear();
  }

  detach(): void {
    const { gate, setRecorded } = this.#options;
    for (const category of gate.categories()) setRecorded?.(category, false);
    for (const key of [...this.#parts.keys()]) this.#parts.apply(key, []);
    this.#attachment.detach();
  }

  #applyActivations(key: ScopeKey): void {
    this.#parts.apply(key, this.#options.states.liveActivations(key));
    this.views.clear();
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
    this.views.clear();
  }

  /** A tenant's setting is an override in the gate; the global setting or the default is its base. */
  #applyOne(key: ScopeKey, name: string, settings: Settings): void {
    const { states } = this.#options;
    const index = this.#indexes.get(name);
    if (index === undefined) {
      this.#waiting.set(name, (this.#waiting.get(name) ?? new Set()).add(key));
      return;
    }
    const tenantId = this.tenantOf(key);
    if (key !== GLOBAL_SCOPE && tenantId === undefined) return;
    const state = settingState(settings.get(name), tenantId === undefined ? 'global' : 'tenant', states.ended);
    const limited = state?.overlay?.budget === undefined ? undefined : state.overlay;
    if (!sameOverlay(this.#limited.get(`${key} ${name}`), limited)) this.#limit(key, name, index, limited);
    const level = state?.level === undefined ? ANY_LEVEL : LEVEL[state.level];
    if (tenantId !== undefined) this.#attachment.setTenant(tenantId, index, state?.enabled, level);
    else {
      const settled = state !== undefined || this.#options.overrides[name]?.enabled !== undefined;
      this.#attachment.setBase(index, state?.enabled ?? this.defaults.get(name) === true, settled, level);
      if (this.#recorded.length === 0) return;
      const isRecorded = this.#isRecorded(name, states.ended);
      this.#options.setRecorded?.(this.#options.gate.categories()[index]!, isRecorded);
    }
  }

  /** Whether it is recorded from the start, and nobody has switched it off for everybody. */
  #isRecorded(name: string, ended: EndCheck): boolean {
    if (!this.#recorded.some((matches) => matches(name))) return false;
    const setting = this.#options.states.settings(GLOBAL_SCOPE).get(name);
    return settingState(setting, 'global', ended)?.enabled !== false;
  }

  /** Applies the budget of a control once, so that what was spent of it does not come back. */
  #limit(key: ScopeKey, name: string, index: number, overlay: Overlay | undefined): void {
    const { gate, budgets } = this.#options;
    const place = `${key} ${name}`;
    if (overlay === undefined) this.#limited.delete(place);
    else this.#limited.set(place, overlay);
    const exhausted = () => overlay && this.#events?.exhausted(overlay);
    budgets?.setControl(gate.categories()[index]!, this.tenantOf(key), overlay?.budget, exhausted);
  }

  #register(category: CategoryDescriptor): void {
    this.#add(category);
    const scopes = this.#waiting.get(category.name) ?? [];
    this.#waiting.delete(category.name);
    for (const key of [...scopes, GLOBAL_SCOPE]) {
      this.#apply(key, [category.name], this.#options.states.settings(key));
    }
    for (const key of [...this.#parts.keys()]) this.#applyActivations(key);
  }

  #add({ name, index, defaultEnabled }: CategoryDescriptor): void {
    this.defaults.set(name, this.#overrideOf(name)?.enabled ?? defaultEnabled);
    this.#indexes.set(name, index);
    this.#sorted = undefined;
    this.#all = undefined;
  }

  #overrideOf(name: string): CategoryOverride | undefined {
    const { overrides } = this.#options;
    return Object.hasOwn(overrides, name) ? overrides[name] : undefined;
  }

  /** The categories of all processes. Another object after each change. */
  #catalogue(): Catalogue {
    const own = this.categories();
    this.#all ??= merge(own, this.#others);
    return this.#all;
  }

  /**
   * The categories of this process, sorted by name in the order of UTF-16 code units. Rebuilt when a category or a
   * description was added.
   */
  categories(): readonly CategoryOfProcess[] {
    if (this.#sorted !== undefined && this.#undescribed.every(({ description }) => description === '')) {
      return this.#sorted;
    }
    const registered = this.#options.gate.categories();
    this.#undescribed = registered.filter(
      ({ name, description }) => description === '' && !this.#overrideOf(name)?.description,
    );
    this.#all = undefined;
    this.#sorted = [...this.#indexes]
      .sort(([a], [b]) => order(a, b))
      .map(([name, index]) => ({
        index,
        name,
        description: this.#overrideOf(name)?.description ?? registered[index]?.description ?? '',
        defaultEnabled: this.defaults.get(name) === true,
      }));
    return this.#sorted;
  }
}

/** Where processes describe a category differently, this one's description counts, unless it has none. */
function merge(own: readonly CategoryOfProcess[], { processes, categories }: OtherCategories): Catalogue {
  const of = processes + 1;
  const instances = (having: number) => (having < of ? { instances: { having, of } } : {});
  const ownNames = new Set(own.map(({ name }) => name));
  const all: DescribedCategory[] = own.map((category) => {
    const { having = 0, description = '' } = categories.get(category.name) ?? {};
    return { ...category, description: category.description || description, ...instances(1 + having) };
  });
  for (const { having, ...category } of categories.values()) {
    if (!ownNames.has(category.name)) all.push({ ...category, ...instances(having) });
  }
  all.sort((a, b) => order(a.name, b.name));
  return { categories: all, defaults: new Map(all.map(({ name, defaultEnabled }) => [name, defaultEnabled])) };
}

function order(a: string, b: string): number {
  return a < b ? -1 : 1;
}
