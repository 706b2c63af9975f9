import { CAPACITY } from './bits.ts';
import type { Calls } from './calls.ts';
import type { GateCore } from './core.ts';
import { LEVEL } from './levels.ts';
import type { CallAttributes, CategoryDescriptor, CategoryOptions, GatedCategory, OwnLine, Span } from './types.ts';

/**
 * The category object that applications use. Plain fields because of benchmarks/gate-off.ts: V8 folds constant fields of
 * a constant object, so that a check takes 0.1 to 0.2 ns; with private fields it takes 1 ns, with closures per handle 5 to
 * 10 ns. The fields are not enumerable, so that a logged handle shows only its name.
 */
export class CategoryHandle implements GatedCategory {
  readonly name: string;
  declare readonly descriptor: CategoryDescriptor;
  declare readonly interest: Uint32Array;
  declare readonly word: number;
  declare readonly mask: number;
  declare readonly core: GateCore;
  declare readonly calls: Calls;

  constructor(descriptor: CategoryDescriptor, core: GateCore) {
    this.name = descriptor.name;
    Object.defineProperties(this, {
      descriptor: { value: descriptor },
      interest: { value: core.memory.interest },
      word: { value: descriptor.index >>> 5 },
      mask: { value: 1 << (descriptor.index & 31) },
      core: { value: core },
      calls: { value: core.calls },
    });
  }

  get description(): string {
    return this.descriptor.description;
  }

  get enabled(): boolean {
    return (this.interest[this.word]! & this.mask) !== 0 && this.calls.resolve(this);
  }

  debug(message: string, attributes?: CallAttributes): void {
    if ((this.interest[this.word]! & this.mask) === 0) return;
    this.calls.emit(this, message, attributes);
  }

  span<T>(name: string, fn: (span?: Span) => T): T {
    // Without a span, `fn` is called directly, so that a recursive function uses no additional stack.
    if ((this.interest[this.word]! & this.mask) === 0 || !this.calls.traces(this)) return fn();
    return this.calls.trace(this, name, fn);
  }

  fail(error: unknown): void {
    this.core.work.fail(error);
  }

  get wanted(): boolean {
    return (this.interest[this.word]! & this.mask) !== 0;
  }

  passes(own: OwnLine, admitted?: boolean, level: number = LEVEL.debug): boolean {
    if (admitted !== undefined && !this.decided) return this.calls.observe(this, own, admitted, level);
    return this.wanted && this.calls.emit(this, '', undefined, own, admitted === false ? heldBack(level) : level);
  }

  get level(): number {
    return this.calls.levelOf(this);
  }

  get leastLevel(): number {
    return this.core.memory.leastLevels[this.descriptor.index]!;
  }

  get tapped(): boolean {
    return this.calls.taps(this);
  }

  get recorded(): boolean {
    return this.calls.records(this);
  }

  get onlyRecorded(): boolean {
    return this.calls.onlyRecords(this);
  }

  record(own: OwnLine, level: number): void {
    this.calls.record(this, '', undefined, level, own);
  }

  get decided(): boolean {
    return this.calls.decides(this);
  }

  get settled(): boolean {
    return (this.core.memory.settled[this.word]! & this.mask) !== 0;
  }

  allows(admitted: boolean, level: number = LEVEL.debug): boolean {
    return this.calls.allows(this, admitted, admitted ? level : heldBack(level));
  }

  onWanted(listener: (wanted: boolean) => void): () => void {
    return this.core.watch(this.descriptor.index, listener);
  }

  setDefault(enabled: boolean): void {
    this.core.registry.setDefault(this.name, enabled);
  }

  suggestDescription(description: string, instead?: string): void {
    this.core.registry.suggestDescription(this.name, description, instead);
  }
}

/** What quietens lets nothing out that the logger itself holds back: such a line counts as INFO at most. */
function heldBack(level: number): number {
  return Math.min(level, LEVEL.info);
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
  readonly #core: GateCore;
  readonly #announce: (descriptor: CategoryDescriptor) => void;

  /**
   * @param announce called when a category is new, and when a later registration changes its default, or a description
   * that was only suggested
   */
  constructor(core: GateCore, announce: (descriptor: CategoryDescriptor) => void) {
    this.#core = core;
    this.#announce = announce;
  }

  /**
   * Returns the handle of that name, and registers it on first use.
   * @throws {RangeError} when `limit` or {@link CAPACITY} categories exist
   * @throws {TypeError} when the name is not a category name
   */
  getOrRegister(name: string, { description, enabled }: CategoryOptions, limit: number): CategoryHandle {
    const existing = this.#entries.get(name);
    const entry = existing ?? this.#add(name, limit);
    const { descriptor } = entry;
    let changed = existing === undefined;
    if (!entry.descriptionGiven && description) {
      entry.descriptionGiven = true;
      changed ||= descriptor.description !== '';
      descriptor.description = description;
    }
    if (enabled !== undefined && !entry.defaultGiven) {
      entry.defaultGiven = true;
      changed ||= descriptor.defaultEnabled !== enabled;
      descriptor.defaultEnabled = enabled;
    }
    if (changed) this.#announce(descriptor);
    return entry.handle;
  }

  #add(name: string, limit: number): Entry {
    checkName(name);
    checkCapacity(name, this.descriptors.length, limit);
    const descriptor = { index: this.descriptors.length, name, description: '', defaultEnabled: false };
    const handle = new CategoryHandle(descriptor, this.#core);
    const entry = { descriptor, handle, defaultGiven: false, descriptionGiven: false };
    this.descriptors.push(descriptor);
    this.#entries.set(name, entry);
    return entry;
  }

  /** Changes a category's default, even if a registration gave one. */
  setDefault(name: string, enabled: boolean): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    entry.defaultGiven = true;
    if (entry.descriptor.defaultEnabled === enabled) return;
    entry.descriptor.defaultEnabled = enabled;
    this.#announce(entry.descriptor);
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
