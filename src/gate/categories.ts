import { CAPACITY } from './bits.ts';
import type { Attributes, Category, CategoryDescriptor, CategoryOptions, Span } from './types.ts';

/** What a handle asks once its interest bit is set. */
export interface Decider {
  resolve(category: CategoryHandle): boolean;
  emit(category: CategoryHandle, message: string, attributes: Attributes | (() => Attributes) | undefined): void;
  /** Whether a span is made of a call now, asked before {@link trace}. */
  traces(category: CategoryHandle, name: string): boolean;
  trace<T>(category: CategoryHandle, name: string, fn: (span?: Span) => T): T;
}

/**
 * A category as the application holds it. The shape was chosen by measurement (benchmarks/gate-off.ts): V8 folds
 * constant plain fields of a constant object, and so tests a bit for 0.1 to 0.2 ns; private fields cost 1 ns, closures
 * made per handle 5 to 10 ns. The fields are not enumerable, so that a logged handle shows its name alone.
 */
export class CategoryHandle implements Category {
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
    // `fn` is called from here wherever there is no span, so that a recursive function gets no deeper than without us.
    if ((this.interest[this.word]! & this.mask) === 0 || !this.decider.traces(this, name)) return fn();
    return this.decider.trace(this, name, fn);
  }
}

// The same two patterns as the protocol's (RDCP 1.0, CategoryName, and its custom categories). They stand here again
// because applications import the gate without the rest; a test holds the two equal.
export const CATEGORY_NAME = /^[A-Z][A-Z0-9_]{0,63}$/;
export const CUSTOM_CATEGORY_NAME = /^X-[A-Z][A-Z0-9_-]{0,61}$/;

interface MutableDescriptor extends CategoryDescriptor {
  description: string;
  defaultEnabled: boolean;
}

interface Entry {
  readonly descriptor: MutableDescriptor;
  readonly handle: CategoryHandle;
  /** Whether somebody said what the default is. The first who does is believed. */
  defaultGiven: boolean;
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
   * The handle of that name. `announce` is called when the category is new, and again when its default became known
   * later and is not what was announced.
   * @throws {RangeError} when `limit` or {@link CAPACITY} categories exist
   * @throws {TypeError} when the name is not a category name
   */
  take(
    name: string,
    options: CategoryOptions | undefined,
    limit: number,
    announce: (descriptor: CategoryDescriptor) => void,
  ): CategoryHandle {
    const existing = this.#entries.get(name);
    if (existing === undefined) return this.#add(name, options, limit, announce).handle;
    const { descriptor } = existing;
    if (descriptor.description === '') descriptor.description = options?.description ?? '';
    if (options?.enabled !== undefined && !existing.defaultGiven) {
      existing.defaultGiven = true;
      if (descriptor.defaultEnabled !== options.enabled) {
        descriptor.defaultEnabled = options.enabled;
        announce(descriptor);
      }
    }
    return existing.handle;
  }

  /** -1 where there is no such category. */
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
    checkRoom(name, this.descriptors.length, limit);
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
    `${given} is not a category name: it must match ${CATEGORY_NAME.source}, or ${CUSTOM_CATEGORY_NAME.source} for a custom category`,
  );
}

function checkRoom(name: string, count: number, limit: number): void {
  if (count < Math.min(limit, CAPACITY)) return;
  const advice =
    limit < CAPACITY
      ? `register fewer, broader categories, or raise limits.maxCategories (at most ${CAPACITY})`
      : 'register fewer, broader categories, and none whose name is made from data';
  throw new RangeError(
    `category ${name} was not registered: the limit of ${Math.min(limit, CAPACITY)} categories is reached; ${advice}`,
  );
}
