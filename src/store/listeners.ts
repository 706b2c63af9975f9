import { diagnostics } from '../otel/diagnostics.ts';

/** The listeners to one thing of a store. One that throws is reported and does not affect the others. */
export class Listeners<Args extends readonly unknown[]> {
  readonly #what: string;
  readonly #entries = new Set<{ readonly listener: (...args: Args) => void }>();

  /** @param what named when a listener throws, in the plural */
  constructor(what: string) {
    this.#what = what;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Returns a function that unsubscribes. */
  add(listener: (...args: Args) => void): () => void {
    const entry = { listener };
    this.#entries.add(entry);
    return () => void this.#entries.delete(entry);
  }

  call(...args: Args): void {
    for (const { listener } of [...this.#entries]) {
      try {
        listener(...args);
      } catch (error) {
        diagnostics.error(`rdcp: a listener to ${this.#what} of the store threw`, error);
      }
    }
  }

  clear(): void {
    this.#entries.clear();
  }
}
