import { CAPACITY, createBits, hasBit, writeBit } from './bits.ts';
import { ANY_LEVEL } from './levels.ts';
import type { GateMemory } from './memory.ts';
import type { Attachment, CategoryDescriptor, Controller } from './types.ts';

/** What a tenant has of its own for a category. */
export interface Override {
  readonly on: boolean;
  /** The least urgent level that comes out while it is on. */
  readonly level: number;
}

type Overrides = ReadonlyMap<number, Override>;

const NO_OVERRIDES: Overrides = new Map();

/** Longest id of a tenant that a request of an operator can name: RDCP 1.0, Identifier. */
export const MAX_TENANT_LENGTH = 255;

/** Cuts a tenant's id, which a client may have chosen, and which each line shows. No request can name one that was cut. */
export function boundedTenant<T extends string | undefined>(id: T): T {
  const isLong = typeof id === 'string' && id.length > MAX_TENANT_LENGTH;
  return isLong ? (`${id.slice(0, MAX_TENANT_LENGTH - 1)}…` as T) : id;
}

/** Receives the changes of an attachment: the gate. */
interface AttachmentListener {
  /** The bits of this word, or what tenants see of it, may have changed. */
  changed(attachment: ControllerAttachment, word: number): void;
  /** A tenant's override was set, or removed (`undefined`). */
  overridden(attachment: ControllerAttachment, tenantId: string, index: number, own: Override | undefined): void;
  /** Every word may have changed. */
  replaced(attachment: ControllerAttachment): void;
  detached(attachment: ControllerAttachment): void;
}

/** The state set by one control plane. Kept while inactive, and applied again when a later attachment detaches. */
export class ControllerAttachment implements Attachment {
  readonly controller: Controller;
  /** Categories that are on where no override applies. */
  readonly base: Uint32Array;
  /** Categories whose base is set by a control, a setting or the configuration. */
  readonly settled: Uint32Array;
  /** By category, as in {@link GateMemory}. */
  readonly levels: Uint8Array;
  readonly leastLevels = new Uint8Array(CAPACITY);
  /** A tap wants the calls of the category. */
  readonly tapped: Uint32Array;
  /** The calls of the category are recorded. */
  readonly recorded = createBits();
  /** Categories that at least one tenant overrides. Where a bit is clear, the tenant is not looked up. */
  readonly tenanted = createBits();
  suspended = false;
  /** The keys are the tenant and the category's index. */
  readonly #overrides = new Map<string, Map<number, Override>>();
  readonly #tenantsOn = createBits();
  readonly #unwatch: readonly ((() => void) | undefined)[];
  readonly #overrideCount = new Uint32Array(CAPACITY);
  readonly #onCount = new Uint32Array(CAPACITY);
  readonly #reported = createBits();
  readonly #listener: AttachmentListener;

  /** @param memory bits that the main thread writes, in a worker thread. @default bits of its own */
  constructor(
    controller: Controller,
    listener: AttachmentListener,
    memory: Pick<GateMemory, 'base' | 'tapped' | 'settled' | 'levels'> = {
      base: createBits(),
      tapped: createBits(),
      settled: createBits(),
      levels: new Uint8Array(CAPACITY),
    },
  ) {
    this.controller = controller;
    this.#listener = listener;
    this.base = memory.base;
    this.tapped = memory.tapped;
    this.settled = memory.settled;
    this.levels = memory.levels;
    const follow = (bits: Uint32Array) => (index: number, on: boolean) => {
      writeBit(bits, index, on);
      listener.changed(this, index >>> 5);
    };
    const { sink } = controller;
    this.#unwatch = [sink.watchTaps?.(follow(this.tapped)), sink.watchRecorded?.(follow(this.recorded))];
  }

  /** The categories of one word whose calls anybody wants: on globally or for some tenant, tapped or recorded. */
  interest(word: number): number {
    return this.suspended ? 0 : this.base[word]! | this.#tenantsOn[word]! | this.tapped[word]! | this.recorded[word]!;
  }

  setBase(index: number, on: boolean, settled = true, level: number = ANY_LEVEL): void {
    writeBit(this.base, index, on);
    writeBit(this.settled, index, settled);
    if (this.levels[index] !== level) {
      this.levels[index] = level;
      this.#findLeast(index);
    }
    this.#listener.changed(this, index >>> 5);
  }

  setTenant(tenantId: string, index: number, on: boolean | undefined, level: number = ANY_LEVEL): void {
    const overrides = this.#overrides.get(tenantId) ?? new Map<number, Override>();
    const before = overrides.get(index);
    const own = on === undefined ? undefined : { on, level };
    if (before?.on === on && before?.level === own?.level) return;
    if (own === undefined) overrides.delete(index);
    else overrides.set(index, own);
    if (overrides.size === 0) this.#overrides.delete(tenantId);
    else this.#overrides.set(tenantId, overrides);
    this.#overrideCount[index]! += Number(on !== undefined) - Number(before !== undefined);
    this.#onCount[index]! += Number(on === true) - Number(before?.on === true);
    writeBit(this.tenanted, index, this.#overrideCount[index]! > 0);
    writeBit(this.#tenantsOn, index, this.#onCount[index]! > 0);
    if ((before?.level ?? ANY_LEVEL) !== level) this.#findLeast(index);
    this.#listener.overridden(this, tenantId, index, own);
    this.#listener.changed(this, index >>> 5);
  }

  /** A tenant's overrides by category index. */
  overridesOf(tenantId: string): Overrides {
    return this.#overrides.get(tenantId) ?? NO_OVERRIDES;
  }

  /** The tenant's bitset: the base with the tenant's overrides applied. Valid until the next change. */
  wordsOf(tenantId: string): Uint32Array {
    const overrides = this.overridesOf(tenantId);
    if (overrides.size === 0) return this.base;
    const words = this.base.slice();
    for (const [index, { on }] of overrides) writeBit(words, index, on);
    return words;
  }

  #findLeast(index: number): void {
    let least = this.levels[index]!;
    for (const overrides of this.#overrides.values()) {
      const level = overrides.get(index)?.level ?? ANY_LEVEL;
      if (level !== ANY_LEVEL && (least === ANY_LEVEL || level < least)) least = level;
    }
    this.leastLevels[index] = least;
  }

  /** All overrides of all tenants. */
  *overrides(): Generator<readonly [tenantId: string, index: number, own: Override]> {
    for (const [tenantId, overrides] of this.#overrides) {
      for (const [index, own] of overrides) yield [tenantId, index, own];
    }
  }

  /** Drops every override. `tenanted` and `leastLevels` stay: in a worker thread the main thread writes those in force. */
  clearOverrides(): void {
    this.#overrides.clear();
  }

  suspend(suspended: boolean): void {
    this.suspended = suspended;
    this.#listener.replaced(this);
  }

  detach(): void {
    for (const unwatch of this.#unwatch) unwatch?.();
    this.#listener.detached(this);
  }

  registered(category: CategoryDescriptor): void {
    try {
      this.controller.registered(category);
    } catch (error) {
      this.failed(category, error);
    }
  }

  /** The tenant that the controller's hook returns for the current request; `undefined` without a hook or when it throws. */
  currentTenant(category: CategoryDescriptor): string | undefined {
    try {
      return boundedTenant(this.controller.currentTenant?.());
    } catch (error) {
      this.failed(category, error);
      return undefined;
    }
  }

  /** Reports an error of a hook, once per category: a broken hook throws on every call. */
  failed(category: CategoryDescriptor, error: unknown): void {
    if (hasBit(this.#reported, category.index)) return;
    writeBit(this.#reported, category.index, true);
    try {
      this.controller.failed(category, error);
    } catch {
      // A failing reporter must not break the application.
    }
  }
}
