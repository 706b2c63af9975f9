import { diagnostics } from '../diagnostics.ts';
import type { ScopeKey, ScopeState, StateStore } from './state-store.ts';

type Listener = Parameters<StateStore['subscribe']>[0];

/** The listeners of a store. One that throws is reported and does not affect the others. */
export class Subscribers {
  readonly #listeners = new Set<{ readonly listener: Listener }>();

  get size(): number {
    return this.#listeners.size;
  }

  /** Returns a function that unsubscribes; `ended` is called after the last one. */
  add(listener: Listener, ended: () => void): () => void {
    const subscription = { listener };
    this.#listeners.add(subscription);
    return () => {
      if (this.#listeners.delete(subscription) && this.#listeners.size === 0) ended();
    };
  }

  announce(scope: ScopeKey, state: ScopeState): void {
    for (const { listener } of this.#listeners) {
      try {
        listener(scope, state);
      } catch (error) {
        diagnostics.error('rdcp: a subscriber of the state store threw', error);
      }
    }
  }

  clear(): void {
    this.#listeners.clear();
  }
}
