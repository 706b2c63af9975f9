import {
  CAPACITY,
  createBits,
  hasBit,
  type PackedOverrides,
  readOverride,
  unpack,
  withOverride,
  withOverrides,
  writeBit,
} from './bits.ts';
import type { Attachment, CategoryDescriptor, Controller } from './types.ts';

/** Tenants whose bitset is cached, about 700 bytes each. Rebuilding one takes about a microsecond. */
const MAX_CACHED_TENANTS = 256;

/** Receives the changes of an attachment: the gate. */
interface AttachmentListener {
  /** The interest bits of this word may have changed. */
  changed(attachment: ControllerAttachment, word: number): void;
  /** Results of {@link ControllerAttachment.wordsOf} may be stale. */
  tenantsChanged(attachment: ControllerAttachment): void;
  /** A tenant's override was set, or removed (`undefined`). */
  overridden(attachment: ControllerAttachment, tenantId: string, index: number, on: boolean | undefined): void;
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
  /** Categories that at least one tenant overrides. Where a bit is clear, the tenant is not looked up. */
  readonly tenanted = createBits();
  suspended = false;
  readonly #tenants = new Map<string, PackedOverrides>();
  /** Cached bitsets by tenant, oldest first. */
  readonly #cachedWords = new Map<string, Uint32Array>();
  readonly #tenantsOn = createBits();
  /** A tap wants the calls of the category. */
  readonly tapped: Uint32Array;
  readonly #unwatch: (() => void) | undefined;
  readonly #overrideCount = new Uint32Array(CAPACITY);
  readonly #onCount = new Uint32Array(CAPACITY);
  readonly #reported = createBits();
  readonly #listener: AttachmentListener;

  /**
   * @param base memory that the main thread writes, in a worker thread
   * @param tapped likewise
   * @param settled likewise
   */
  constructor(
    controller: Controller,
    listener: AttachmentListener,
    base: Uint32Array = createBits(),
    tapped: Uint32Array = createBits(),
    settled: Uint32Array = createBits(),
  ) {
    this.controller = controller;
    this.#listener = listener;
    this.base = base;
    this.tapped = tapped;
    this.settled = settled;
    this.#unwatch = controller.sink.watchTaps?.((index, on) => {
      writeBit(this.tapped, index, on);
      listener.changed(this, index >>> 5);
    });
  }

  /** The categories of one word that are on globally or for some tenant. */
  interest(word: number): number {
    return this.suspended ? 0 : this.base[word]! | this.#tenantsOn[word]! | this.tapped[word]!;
  }

  setBase(index: number, on: boolean, settled = true): void {
    writeBit(this.base, index, on);
    writeBit(this.settled, index, settled);
    this.#cachedWords.clear();
    this.#listener.tenantsChanged(this);
    this.#listener.changed(this, index >>> 5);
  }

  setTenant(tenantId: string, index: number, on: boolean | undefined): void {
    const packed = this.#tenants.get(tenantId);
    const before = packed === undefined ? undefined : readOverride(packed, index);
    if (before === on) return;
    const after = withOverride(packed, index, on);
    if (after === undefined) this.#tenants.delete(tenantId);
    else this.#tenants.set(tenantId, after);
    this.#cachedWords.delete(tenantId);
    this.#listener.tenantsChanged(this);
    this.#overrideCount[index]! += Number(on !== undefined) - Number(before !== undefined);
    this.#onCount[index]! += Number(on === true) - Number(before === true);
    writeBit(this.tenanted, index, this.#overrideCount[index]! > 0);
    writeBit(this.#tenantsOn, index, this.#onCount[index]! > 0);
    this.#listener.overridden(this, tenantId, index, on);
    this.#listener.changed(this, index >>> 5);
  }

  /** The tenant's bitset. Valid until the next change. */
  wordsOf(tenantId: string): Uint32Array {
    const cached = this.#cachedWords.get(tenantId);
    if (cached !== undefined) return cached;
    const packed = this.#tenants.get(tenantId);
    if (packed === undefined) return this.base;
    const words = withOverrides(this.base, packed);
    for (const [oldest] of this.#cachedWords) {
      if (this.#cachedWords.size < MAX_CACHED_TENANTS) break;
      this.#cachedWords.delete(oldest);
    }
    this.#cachedWords.set(tenantId, words);
    return words;
  }

  /** A tenant's override of a category, or `undefined`. */
  overrideOf(tenantId: string, index: number): boolean | undefined {
    const packed = this.#tenants.get(tenantId);
    return packed === undefined ? undefined : readOverride(packed, index);
  }

  /** All overrides of all tenants. */
  *overrides(): Generator<readonly [tenantId: string, index: number, on: boolean]> {
    for (const [tenantId, packed] of this.#tenants) {
      for (const entry of unpack(packed)) yield [tenantId, entry >>> 1, (entry & 1) === 1];
    }
  }

  /** Invalidates the cache after the main thread has written the base. */
  baseChanged(): void {
    this.#cachedWords.clear();
    this.#listener.tenantsChanged(this);
  }

  /** Drops every override. `tenanted` stays: in a worker thread the main thread writes it. */
  clearOverrides(): void {
    this.#tenants.clear();
    this.baseChanged();
  }

  suspend(suspended: boolean): void {
    this.suspended = suspended;
    this.#listener.replaced(this);
  }

  detach(): void {
    this.#unwatch?.();
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
      return this.controller.currentTenant?.();
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
