interface Copy {
  stop(): void;
}

/**
 * Copies of a library by an object that each has. A copy is adopted while anybody uses it, and known for good, so that
 * its loggers are found again when adoption begins again.
 */
export class SharedCopies<C extends Copy> {
  readonly #known = new WeakMap<object, { readonly copy: C; users: number }>();

  /** Returns the copy, and a function that ends this use of it. */
  use(key: object, create: () => C, start: (copy: C) => void): { readonly copy: C; readonly stop: () => void } {
    const used = this.#known.get(key) ?? { copy: create(), users: 0 };
    this.#known.set(key, used);
    if (used.users === 0) start(used.copy);
    used.users += 1;
    let stopped = false;
    const stop = () => {
      if (stopped) return;
      stopped = true;
      used.users -= 1;
      if (used.users === 0) used.copy.stop();
    };
    return { copy: used.copy, stop };
  }
}
