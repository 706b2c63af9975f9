interface Patch {
  readonly target: object;
  readonly key: string | symbol;
  /** `undefined` where the target inherited the property, or had none. */
  readonly original: PropertyDescriptor | undefined;
  readonly replacement: unknown;
}

/** A method of another library. */
export type Method<T> = (this: T, ...args: unknown[]) => unknown;

/** Whether patches are in force. Replacements that the application has kept ask it. */
export interface Live {
  readonly on: boolean;
}

/** Properties of other libraries that are replaced for a while. */
export class Patches {
  readonly #patches: Patch[] = [];
  #live = { on: true };

  /** Replaces a property, own or inherited. */
  replace(target: object, key: string | symbol, replacement: unknown): void {
    const original = Object.getOwnPropertyDescriptor(target, key);
    const { enumerable = false, configurable = true, writable = true } = original ?? {};
    Object.defineProperty(target, key, { value: replacement, enumerable, configurable, writable });
    this.#patches.push({ target, key, original, replacement });
  }

  /** Replaces a method, own or inherited, by what `make` returns. Does nothing where there is none. */
  wrap<T>(target: object, key: string | symbol, make: (original: Method<T>, live: Live) => unknown): void {
    const method: unknown = Reflect.get(target, key);
    if (typeof method === 'function') this.replace(target, key, make(method as Method<T>, this.#live));
  }

  /**
   * Replaces a method by one that calls `replacement` with the object, the arguments, and what calls the original with them.
   * Once the patches are undone, it calls the original.
   */
  around<T>(
    target: object,
    key: string | symbol,
    replacement: (self: T, args: unknown[], proceed: (instead?: T) => unknown) => unknown,
  ): void {
    this.wrap<T>(target, key, (original, live) => {
      const { name } = original;
      const replaced: Method<T> = function (...args) {
        if (!live.on) return original.apply(this, args);
        return replacement(this, args, (instead?: T) => original.apply(instead ?? this, args));
      };
      return Object.defineProperty(replaced, 'name', { value: name, configurable: true });
    });
  }

  /** Puts everything back, except where a property was replaced again after us: what stands there then may call ours. */
  restore(): void {
    this.#live.on = false;
    this.#live = { on: true };
    for (const { target, key, original, replacement } of this.#patches.splice(0).reverse()) {
      if (Object.getOwnPropertyDescriptor(target, key)?.value !== replacement) continue;
      if (original === undefined) Reflect.deleteProperty(target, key);
      else Object.defineProperty(target, key, original);
    }
  }
}
