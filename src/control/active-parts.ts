import { ANY_LEVEL, LEVEL } from '../gate/levels.ts';
import type { CategoryDescriptor } from '../gate/types.ts';
import type { Activation, ScopeKey } from '../store/state-store.ts';
import type { ControlBudget } from '../wire/messages.ts';
import type { Choice, LineFilter, Match, When } from '../wire/target.ts';

/** Switches a part of a category on in this process. Returns a function that ends it. */
export type Activate = (
  category: CategoryDescriptor,
  part: {
    readonly tenantId: string | undefined;
    readonly match: Match | undefined;
    readonly filter: LineFilter | undefined;
    readonly when: When | undefined;
    /** Calls are kept in memory, and none is written. */
    readonly record?: true;
    readonly budget: ControlBudget | false | undefined;
    /** The least urgent level that it lets out (`gate/levels.ts`). */
    readonly level: number;
    /** Called from inside a debug call when a total of the budget is used up. */
    readonly exhausted: () => void;
  },
) => () => void;

/** Begins something for as long as this process is chosen. Returns a function that ends it. */
export type WhileChosen = (choice: Choice, begin: () => () => void) => () => void;

export interface ActivePartsOptions {
  readonly activate: Activate;
  readonly whileChosen: WhileChosen;
  readonly category: (name: string) => CategoryDescriptor | undefined;
  readonly tenantOf: (key: ScopeKey) => string | undefined;
  readonly exhausted: (activation: Activation) => void;
}

/** Keeps the parts of categories that are on in this process in step with the activations in force. */
export class ActiveParts {
  readonly #options: ActivePartsOptions;
  /** By scope, id of the activation and category: how to end it. */
  readonly #scopes = new Map<ScopeKey, Map<string, Map<string, () => void>>>();

  constructor(options: ActivePartsOptions) {
    this.#options = options;
  }

  apply(key: ScopeKey, activations: readonly Activation[]): void {
    const before = this.#scopes.get(key) ?? new Map<string, Map<string, () => void>>();
    if (before.size + activations.length === 0) return;
    const after = new Map<string, Map<string, () => void>>();
    for (const activation of activations) {
      const parts = before.get(activation.id) ?? new Map<string, () => void>();
      before.delete(activation.id);
      after.set(activation.id, parts);
      this.#applyOne(key, activation, parts);
    }
    for (const ends of before.values()) for (const end of ends.values()) end();
    if (after.size === 0) this.#scopes.delete(key);
    else this.#scopes.set(key, after);
  }

  keys(): Iterable<ScopeKey> {
    return this.#scopes.keys();
  }

  #applyOne(key: ScopeKey, activation: Activation, parts: Map<string, () => void>): void {
    const { id, categories, target, filter, when, record, budget, level } = activation;
    for (const [name, end] of parts) {
      if (categories.includes(name)) continue;
      end();
      parts.delete(name);
    }
    for (const name of categories) {
      const category = this.#options.category(name);
      if (category === undefined || parts.has(name)) continue;
      const part = {
        tenantId: this.#options.tenantOf(key),
        match: target?.match,
        filter,
        when,
        ...(record && { record }),
        budget,
        level: level === undefined ? ANY_LEVEL : LEVEL[level],
        exhausted: () => this.#options.exhausted(activation),
      };
      const { activate, whileChosen } = this.#options;
      const choice = { id, categories, instances: target?.instances };
      parts.set(
        name,
        whileChosen(choice, () => activate(category, part)),
      );
    }
  }
}
