/** Holds a state that is replaced, never changed. */
export class Store<S, A> {
  #state: S;
  readonly #reduce: (state: S, action: A) => S;
  readonly #listeners = new Set<() => void>();

  constructor(initial: S, reduce: (state: S, action: A) => S) {
    this.#state = initial;
    this.#reduce = reduce;
  }

  get state(): S {
    return this.#state;
  }

  dispatch(action: A): void {
    const next = this.#reduce(this.#state, action);
    if (next === this.#state) return;
    this.#state = next;
    for (const listener of [...this.#listeners]) listener();
  }

  /** @returns a function that ends the subscription */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
