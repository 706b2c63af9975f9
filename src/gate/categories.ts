import { CAPACITY } from './bits.ts';
import type { Attributes, CategoryDescriptor, CategoryOptions, Described, GatedCategory, Span } from './types.ts';

/** Decides and emits for a handle once its interest bit is set. */
export interface Decider {
  resolve(category: CategoryHandle): boolean;
  emit(category: CategoryHandle, message: string, attributes: Attributes | (() => Attributes) | undefined): void;
  /** Whether a call creates a span now. Called before {@link trace}. */
  traces(category: CategoryHandle, name: string): boolean;
  trace<T>(category: CategoryHandle, name: string, fn: (span?: Span) => T): T;
  passes(
    category: CategoryHandle,
    text: string,
    describe: () => Described,
    bytes: number,
    admitted: boolean | undefined,
  ): boolean;
  taps(category: CategoryHandle): boolean;
  decides(category: CategoryHandle): boolean;
  allows(category: CategoryHandle, admitted: boolean): boolean;
  watch(category: CategoryHandle, listener: (wanted: boolean) => void): () => void;
  setDefault(category: CategoryHandle, enabled: boolean): void;
  suggestDescription(category: CategoryHandle, description: string, instead?: string): void;
}

/**
 * The category object that applications use. Plain fields because of benchmarks/gate-off.ts: V8 folds constant fields of
 * a constant object, so that a check takes 0.1 to 0.2 ns; private fields getOrRegister 1 ns, closures per handle 5 to 10 ns. The
 * fields are not enumerable, so that a logged handle shows only its name.
 */
export class CategoryHandle implements GatedCategory {
  readonly name: string;
  declare readonly descriptor: CategoryDescriptor;
  declare readonly interest: Uint32Array;
  declare readonly word: number;
  declare readonly mask: number;
  declare readonly decider: Decider;

  constructor(descriptor: CategoryDescriptor, interest: Uint32Array, decider: Decider) {
    this.name = descriptor.name;
    Object.defineProperties(this, {
      descriptor: { value: descriptor },
      interest: { value: interest },
      word: { value: descriptor.index >>> 5 },
      mask: { value: 1 << (descriptor.index & 31) },
      decider: { value: decider },
    });
  }

  get description(): string {
    return this.descriptor.description;
  }

  get enabled(): boolean {
    return (this.interest[this.word]! & this.mask) !== 0 && this.decider.resolve(this);
  }

  debug(message: string, attributes?: Attributes | (() => Attributes)): void {
    if ((this.interest[this.word]! & this.mask) === 0) return;
    this.decider.emit(this, message, attributes);
  }

  span<T>(name: string, fn: (span?: Span) => T): T {
    // Without a span, `fn` is called directly, so that a recursive function uses no additional stack.
    if ((this.interest[this.word]! & this.mask) === 0 || !this.decider.traces(this, name)) return fn();
    return this.decider.trace(this, name, fn);
  }

  get wanted(): boolean {
    return (this.interest[this.word]! & this.mask) !== 0;
  }

  passes(text: string, describe: () => Described, bytes: number = text.length, admitted?: boolean): boolean {
    return this.wanted && this.decider.passes(this, text, describe, bytes, admitted);
  }

  get tapped(): boolean {
    return this.decider.taps(this);
  }

  get decided(): boolean {
    return this.decider.decides(this);
  }

  allows(admitted: boolean): boolean {
    return this.decider.allows(this, admitted);
  }

  onWanted(listener: (wanted: boolean) => void): () => void {
    return this.decider.watch(this, listener);
  }

  setDefault(enabled: boolean): void {
    this.decider.setDefault(this, enabled);
  }

  suggestDescription(description: string, instead?: string): void {
    this.decider.suggestDescription(this, description, instead);
  }
}

// Copies of the protocol's two patterns (RDCP 1.0, CategoryName and custom categories), because applications import the
// gate alone. A test compares them.
export const CATEGORY_NAME = /^[A-Z][A-Z0-9_]{0,63}$/;
export const CUSTOM_CATEGORY_NAME = /^X-[A-Z][A-Z0-9_-]{0,61}$/;

interface MutableDescriptor extends CategoryDescriptor {
  description: string;
  defaultEnabled: boolean;
}

interface Entry {
  readonly descriptor: MutableDescriptor;
  readonly handle: CategoryHandle;
  /** Whether a registration gave a default. The first one wins. */
  defaultGiven: boolean;
  /** Whether a registration gave a description. */
  descriptionGiven: boolean;
}

/** Every category of the process, by name and by index. */
export class CategoryRegistry {
  readonly descriptors: CategoryDescriptor[] = [];
  readonly #entries = new Map<string, Entry>();
  readonly #createHandle: (descriptor: CategoryDescriptor) => CategoryHandle;

  constructor(createHandle: (descriptor: CategoryDescriptor) => CategoryHandle) {
    this.#createHandle = createHandle;
  }

  /**
   * Returns the handle of that name, and registers it on first use. Calls `announce` when the category is new, and when a
   * later registration changes its default, or a description that was only suggested.
   * @throws {RangeError} when `limit` or {@link CAPACITY} categories exist
   * @throws {TypeError} when the name is not a category name
   */
  getOrRegister(
    name: string,
    options: CategoryOptions | undefined,
    limit: number,
    announce: (descriptor: CategoryDescriptor) => void,
  ): CategoryHandle {
    const existing = this.#entries.get(name);
    if (existing === undefined) return this.#add(name, options, limit, announce).handle;
    const { descriptor } = existing;
    if (!existing.descriptionGiven && options?.description) {
      existing.descriptionGiven = true;
      const suggested = descriptor.description !== '';
      descriptor.description = options.description;
      if (suggested) announce(descriptor);
    }
    if (options?.enabled !== undefined && !existing.defaultGiven) {
      existing.defaultGiven = true;
      if (descriptor.defaultEnabled !== options.enabled) {
        descriptor.defaultEnabled = options.enabled;
        announce(descriptor);
      }
    }
    return existing.handle;
  }

  /** Changes a category's default, whoever gave it. Calls `announce` if it changes. */
  setDefault(name: string, enabled: boolean, announce: (descriptor: CategoryDescriptor) => void): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    entry.defaultGiven = true;
    if (entry.descriptor.defaultEnabled === enabled) return;
    entry.descriptor.defaultEnabled = enabled;
    announce(entry.descriptor);
  }

  /** Describes a category until a registration does. */
  suggestDescription(name: string, description: string, instead = ''): void {
    const descriptor = this.#entries.get(name)?.descriptor;
    if (descriptor === undefined) return;
    if (descriptor.description === '' || descriptor.description === instead) descriptor.description = description;
  }

  /** Returns the category's index, or -1. */
  indexOf(name: string): number {
    return this.#entries.get(name)?.descriptor.index ?? -1;
  }

  #add(
    name: string,
    options: CategoryOptions | undefined,
    limit: number,
    announce: (descriptor: CategoryDescriptor) => void,
  ): Entry {
    checkName(name);
    checkCapacity(name, this.descriptors.length, limit);
    const descriptor: MutableDescriptor = {
      index: this.descriptors.length,
      name,
      description: options?.description ?? '',
      defaultEnabled: options?.enabled ?? false,
    };
    const entry = {
      descriptor,
      handle: this.#createHandle(descriptor),
      defaultGiven: options?.enabled !== undefined,
      descriptionGiven: Boolean(options?.description),
    };
    this.descriptors.push(descriptor);
    this.#entries.set(name, entry);
    announce(descriptor);
    return entry;
  }
}

function checkName(name: unknown): void {
  if (typeof name === 'string' && (CATEGORY_NAME.test(name) || CUSTOM_CATEGORY_NAME.test(name))) return;
  const given = typeof name === 'string' ? JSON.stringify(name.slice(0, 80)) : `a value of type ${typeof name}`;
  throw new TypeError(
    `invalid category name ${given}: it must match ${CATEGORY_NAME.source}, or ${CUSTOM_CATEGORY_NAME.source} for a custom category`,
  );
}

function checkCapacity(name: string, count: number, limit: number): void {
  if (count < Math.min(limit, CAPACITY)) return;
  const advice =
    limit < CAPACITY
      ? `register fewer, broader categories, or raise limits.maxCategories (at most ${CAPACITY})`
      : 'register fewer, broader categories, and do not build names from data';
  throw new RangeError(
    `category ${name} was not registered: the limit of ${Math.min(limit, CAPACITY)} categories is reached; ${advice}`,
  );
}
