import { GLOBAL_SCOPE, type Maker, type ScopeKey } from '../store/state-store.ts';
import type { DiscoveredControl, TenantSetting, TenantSettings } from '../wire/messages.ts';
import { timestamp } from '../wire/time.ts';
import type { ScopeStates } from './scope-states.ts';
import { type EndCheck, effectiveState, settingState } from './transition.ts';
import type { CategoryActivation, CategoryView } from './types.ts';

const MAX_LISTED_TENANTS = 20;

/** Scopes whose views are cached. Few scopes are read often, and a view of thousands of categories is large. */
const MAX_CACHED = 16;

export type DescribedCategory = Pick<
  CategoryView,
  'index' | 'name' | 'description' | 'defaultEnabled' | 'source' | 'instances'
>;

/** The categories of all processes, sorted by name, and their default states. */
export interface Catalogue {
  readonly categories: readonly DescribedCategory[];
  readonly defaults: ReadonlyMap<string, boolean>;
}

export interface ViewsOptions {
  /** Another object after each change. */
  readonly catalogue: () => Catalogue;
  readonly defaults: ReadonlyMap<string, boolean>;
  /** False while the whole instrumentation is switched off, when every category shows as off. */
  readonly enabled: () => boolean;
  readonly recorded: (name: string, ended: EndCheck) => boolean;
  readonly states: ScopeStates;
  /** The tenant of a scope; `undefined` for the global scope, and for a foreign one. */
  readonly tenantOf: (key: ScopeKey) => string | undefined;
}

export function shownMaker({ at, ...who }: Maker): DiscoveredControl {
  return { ...who, since: timestamp(at) };
}

export class Views {
  readonly #options: ViewsOptions;
  readonly #cached = new Map<ScopeKey, readonly CategoryView[]>();
  /** What the cached views were made from. */
  #catalogue: Catalogue | undefined;

  constructor(options: ViewsOptions) {
    this.#options = options;
  }

  /** Has every view made again, after a change of a scope or of `enabled`. */
  clear(): void {
    this.#cached.clear();
  }

  /** Every category as a scope sees it, sorted by name. The array is cached until the next change. */
  of(key: ScopeKey): readonly CategoryView[] {
    const catalogue = this.#options.catalogue();
    if (catalogue !== this.#catalogue) this.clear();
    this.#catalogue = catalogue;
    const known = this.#cached.get(key);
    if (known !== undefined) return known;
    if (this.#cached.size >= MAX_CACHED) this.clear();
    const view = this.#make(key, catalogue);
    this.#cached.set(key, view);
    return view;
  }

  #make(key: ScopeKey, { categories }: Catalogue): readonly CategoryView[] {
    const { states } = this.#options;
    const layers = states.layers(key);
    const ended = states.endedTogether();
    // A tenant does not learn who made global settings.
    const own = (by: Maker, name: string) => {
      const setting = layers.tenant?.get(name);
      return layers.tenant === undefined || setting?.by === by || setting?.temporary?.by === by;
    };
    const settings = layers.tenant === undefined ? this.#tenantSettings(ended) : undefined;
    const activations = this.#activationsFor(key, ended);
    return categories.map((category) => {
      const tenants = settings?.get(category.name);
      const active = activations.get(category.name);
      const { enabled, overlay, origin, by, level } = effectiveState(
        category.name,
        layers,
        category.defaultEnabled,
        ended,
      );
      return {
        ...category,
        enabled: this.#options.enabled() && enabled,
        temporary: overlay !== undefined,
        origin,
        ...(overlay !== undefined && { expiresAt: overlay.expiresAt }),
        ...(level !== undefined && { level }),
        ...(by !== undefined && own(by, category.name) && { by }),
        ...(tenants !== undefined && { tenants }),
        ...(this.#options.enabled() && this.#options.recorded(category.name, ended) && { recorded: true as const }),
        ...(active !== undefined && { activations: active }),
      };
    });
  }

  /** By category: the tenants whose own setting has it on, or has it off although everybody has it on. */
  #tenantSettings(ended: EndCheck): ReadonlyMap<string, TenantSettings> {
    const { states } = this.#options;
    const global = states.settings(GLOBAL_SCOPE);
    const found = new Map<string, (TenantSetting & { readonly by: Maker | undefined })[]>();
    for (const key of this.#options.enabled() ? states.keys() : []) {
      const id = this.#options.tenantOf(key);
      if (id === undefined) continue;
      states.settings(key).forEach((setting, name) => {
        const own = settingState(setting, 'tenant', ended);
        const inherited = effectiveState(name, { global }, this.#options.defaults.get(name) === true, ended);
        if (own === undefined || (!own.enabled && !inherited.enabled)) return;
        const { enabled, overlay, by, level } = own;
        const expiresAt = overlay && timestamp(overlay.expiresAt);
        const tenants = found.get(name) ?? [];
        const until = { ...(expiresAt && { expiresAt }), ...(level && { level }) };
        tenants.push({ id, enabled, temporary: overlay !== undefined, ...until, by });
        found.set(name, tenants);
      });
    }
    return new Map(
      [...found].map(([name, all]) => {
        const on = all.filter(({ enabled }) => enabled);
        const temporary = on.filter((each) => each.temporary).length;
        const tenants = all
          .sort((a, b) => (a.id < b.id ? -1 : 1))
          .slice(0, MAX_LISTED_TENANTS)
          .map(({ by, ...setting }) => ({ ...setting, ...(by && { control: shownMaker(by) }) }));
        return [name, { temporary, permanent: on.length - temporary, tenants, more: all.length - tenants.length }];
      }),
    );
  }

  /** By category, the activations in force: of everybody and of the scope; in the view of everybody, of every tenant. */
  #activationsFor(key: ScopeKey, ended: EndCheck): ReadonlyMap<string, readonly CategoryActivation[]> {
    const found = new Map<string, CategoryActivation[]>();
    const { states } = this.#options;
    if (!this.#options.enabled()) return found;
    for (const scope of key === GLOBAL_SCOPE ? states.keys() : [GLOBAL_SCOPE, key]) {
      const tenantId = this.#options.tenantOf(scope);
      if (scope !== GLOBAL_SCOPE && tenantId === undefined) continue;
      for (const activation of states.activations(scope)) {
        if (ended(activation)) continue;
        for (const name of activation.categories) {
          found.set(name, [...(found.get(name) ?? []), { activation, tenantId }]);
        }
      }
    }
    return found;
  }
}
