interface Patch {
  readonly target: object;
  readonly key: string | symbol;
  /** `undefined` where the target inherited the method. */
  readonly original: PropertyDescriptor | undefined;
  readonly replacement: unknown;
}

/** Methods of other libraries that are replaced for a while. */
export class Patches {
  readonly #patches: Patch[] = [];

  /** Replaces a method, own or inherited. Does nothing where there is none. */
  wrap<T>(target: object, key: string | symbol, make: (original: (this: T, ...args: unknown[]) => unknown) => unknown) {
    const method: unknown = Reflect.get(target, key);
    if (typeof method !== 'function') return;
    const original = Object.getOwnPropertyDescriptor(target, key);
    const replacement = make(method as (this: T, ...args: unknown[]) => unknown);
    const { enumerable = false, configurable = true, writable = true } = original ?? {};
    Object.defineProperty(target, key, { value: replacement, enumerable, configurable, writable });
    this.#patches.push({ target, key, original, replacement });
  }

  /** Puts everything back, except where somebody replaced a method after us: what they call passes on. */
  restore(): void {
    for (const { target, key, original, replacement } of this.#patches.splice(0).reverse()) {
      if (Object.getOwnPropertyDescriptor(target, key)?.value !== replacement) continue;
      if (original === undefined) Reflect.deleteProperty(target, key);
      else Object.defineProperty(target, key, original);
    }
  }
}
