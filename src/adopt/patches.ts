interface Patch {
  readonly target: object;
  readonly key: string | symbol;
  /** `undefined` where the target inherited the method. */
  readonly original: PropertyDescriptor | undefined;
  readonly replacement: unknown;
}

/** A method of another library. */
export type Method<T> = (this: T, ...args: unknown[]) => unknown;

/** Methods of other libraries that are replaced for a while. */
export class Patches {
  readonly #patches: Patch[] = [];

  /** Replaces a method, own or inherited, by what `make` returns. Does nothing where there is none. */
  wrap<T>(target: object, key: string | symbol, make: (original: Method<T>) => unknown): void {
    const method: unknown = Reflect.get(target, key);
    if (typeof method !== 'function') return;
    const original = Object.getOwnPropertyDescriptor(target, key);
    const replacement = make(method as Method<T>);
    const { enumerable = false, configurable = true, writable = true } = original ?? {};
    Object.defineProperty(target, key, { value: replacement, enumerable, configurable, writable });
    this.#patches.push({ target, key, original, replacement });
  }

  /** Replaces a method by one that calls `replacement` with the object, the arguments, and what calls the original with them. */
  around<T>(
    target: object,
    key: string | symbol,
    replacement: (self: T, args: unknown[], proceed: () => unknown) => unknown,
  ): void {
    this.wrap<T>(target, key, (original) => {
      const { name } = original;
      const replaced: Method<T> = function (...args) {
        return replacement(this, args, () => original.apply(this, args));
      };
      return Object.defineProperty(replaced, 'name', { value: name, configurable: true });
    });
  }

  /** Puts everything back, except where a method was replaced again after us: what stands there then passes on. */
  restore(): void {
    for (const { target, key, original, replacement } of this.#patches.splice(0).reverse()) {
      if (Object.getOwnPropertyDescriptor(target, key)?.value !== replacement) continue;
      if (original === undefined) Reflect.deleteProperty(target, key);
      else Object.defineProperty(target, key, original);
    }
  }
}
