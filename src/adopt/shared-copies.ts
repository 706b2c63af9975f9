import type { LoggerAdopter } from './loggers.ts';

/** The loggers of one copy of a library. */
interface Copy {
  start(): void;
  /** Puts the loggers back that were adopted by one adopter. */
  release(adopter: LoggerAdopter): void;
  stop(): void;
}

/**
 * Copies of a library by an object that each has. A copy is patched while it is used, and known for good, so that its
 * loggers are found again when adoption begins again.
 */
export class SharedCopies<C extends Copy> {
  readonly #known = new WeakMap<object, { readonly copy: C; users: number }>();

  /** Returns a function that ends this use of a copy. @param begin adopts */
  use(key: object, create: () => C, adopter: LoggerAdopter, begin: (copy: C) => void): () => void {
    const used = this.#known.get(key) ?? { copy: create(), users: 0 };
    this.#known.set(key, used);
    if (used.users === 0) used.copy.start();
    used.users += 1;
    begin(used.copy);
    let stopped = false;
    return () => {
      if (stopped) return;
      stopped = true;
      used.copy.release(adopter);
      used.users -= 1;
      if (used.users === 0) used.copy.stop();
    };
  }
}
