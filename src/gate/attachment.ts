import {
  CAPACITY,
  createBits,
  hasBit,
  layOver,
  type PackedOverrides,
  readOverride,
  unpack,
  withOverride,
  writeBit,
} from './bits.ts';
import type { Attachment, CategoryDescriptor, Controller } from './types.ts';

/**
 * Tenants whose bitset is kept, 512 bytes and a typed array's own 200 each. A request of another one makes it again, in
 * about a microsecond.
 */
const MOST_SERVED = 256;

/** What an attachment tells the gate. */
interface Host {
  /** Something of this attachment changed that the word's interest follows from. */
  changed(attachment: ControllerAttachment, word: number): void;
  /** What {@link ControllerAttachment.wordsOf} gave may not hold any more. */
  tenantsChanged(attachment: ControllerAttachment): void;
  /** A tenant's override was set, or removed (`undefined`). */
  overridden(attachment: ControllerAttachment, tenantId: string, index: number, on: boolean | undefined): void;
  /** Every word may have changed. */
  replaced(attachment: ControllerAttachment): void;
  detached(attachment: ControllerAttachment): void;
}

/**
 * What one control plane has set. It is kept whether or not the gate follows it now, so that it can be applied again
 * when a later attachment goes away.
 */
export class ControllerAttachment implements Attachment {
  readonly controller: Controller;
  /** On for everybody without an override. */
  readonly base: Uint32Array;
  /** Some tenant overrides the category. Where clear, nobody needs to know the tenant. */
  readonly tenanted = createBits();
  suspended = false;
  readonly #tenants = new Map<string, PackedOverrides>();
  /** What is on for the tenants served lately, oldest first. */
  readonly #served = new Map<string, Uint32Array>();
  readonly #tenantsOn = createBits();
  /** A tap wants the calls of the category. */
  readonly tapped: Uint32Array;
  readonly #unwatch: (() => void) | undefined;
  readonly #overrideCount = new Uint32Array(CAPACITY);
  readonly #onCount = new Uint32Array(CAPACITY);
  readonly #reported = createBits();
  readonly #host: Host;

  /** @param base where somebody else writes it @param tapped likewise */
  constructor(
    controller: Controller,
    host: Host,
    base: Uint32Array = createBits(),
    tapped: Uint32Array = createBits(),
  ) {
    this.controller = controller;
    this.#host = host;
    this.base = base;
    this.tapped = tapped;
    this.#unwatch = controller.sink.watchTaps?.((index, on) => {
      writeBit(this.tapped, index, on);
      host.changed(this, index >>> 5);
    });
  }

  /** The categories, of one word, that anybody could want now. */
  interest(word: number): number {
    return this.suspended ? 0 : this.base[word]! | this.#tenantsOn[word]! | this.tapped[word]!;
  }

  setBase(index: number, on: boolean): void {
    writeBit(this.base, index, on);
    this.#served.clear();
    this.#host.tenantsChanged(this);
    this.#host.changed(this, index >>> 5);
  }

  setTenant(tenantId: string, index: number, on: boolean | undefined): void {
    const packed = this.#tenants.get(tenantId);
    const before = packed === undefined ? undefined : readOverride(packed, index);
    if (before === on) return;
    const after = withOverride(packed, index, on);
    if (after === undefined) this.#tenants.delete(tenantId);
    else this.#tenants.set(tenantId, after);
    this.#served.delete(tenantId);
    this.#host.tenantsChanged(this);
    this.#overrideCount[index]! += Number(on !== undefined) - Number(before !== undefined);
    this.#onCount[index]! += Number(on === true) - Number(before === true);
    writeBit(this.tenanted, index, this.#overrideCount[index]! > 0);
    writeBit(this.#tenantsOn, index, this.#onCount[index]! > 0);
    this.#host.overridden(this, tenantId, index, on);
    this.#host.changed(this, index >>> 5);
  }

  /** What is on for a tenant, as long as nothing is switched. */
  wordsOf(tenantId: string): Uint32Array {
    const served = this.#served.get(tenantId);
    if (served !== undefined) return served;
    const packed = this.#tenants.get(tenantId);
    if (packed === undefined) return this.base;
    const words = layOver(this.base, packed);
    for (const [oldest] of this.#served) {
      if (this.#served.size < MOST_SERVED) break;
      this.#served.delete(oldest);
    }
    this.#served.set(tenantId, words);
    return words;
  }

  /** Everything that tenants override. */
  *overrides(): Generator<readonly [tenantId: string, index: number, on: boolean]> {
    for (const [tenantId, packed] of this.#tenants) {
      for (const entry of unpack(packed)) yield [tenantId, entry >>> 1, (entry & 1) === 1];
    }
  }

  /** The base was written by somebody else. */
  baseChanged(): void {
    this.#served.clear();
    this.#host.tenantsChanged(this);
  }

  /** Drops every override, where somebody else decides which categories are overridden at all. */
  forgetTenants(): void {
    this.#tenants.clear();
    this.baseChanged();
  }

  suspend(suspended: boolean): void {
    this.suspended = suspended;
    this.#host.replaced(this);
  }

  detach(): void {
    this.#unwatch?.();
    this.#host.detached(this);
  }

  registered(category: CategoryDescriptor): void {
    try {
      this.controller.registered(category);
    } catch (error) {
      this.failed(category, error);
    }
  }

  /** The tenant of the current work, where the controller knows one. */
  currentTenant(category: CategoryDescriptor): string | undefined {
    try {
      return this.controller.currentTenant?.();
    } catch (error) {
      this.failed(category, error);
      return undefined;
    }
  }

  /** Reports what a hook threw, once per category: a broken one throws on every call. */
  failed(category: CategoryDescriptor, error: unknown): void {
    if (hasBit(this.#reported, category.index)) return;
    writeBit(this.#reported, category.index, true);
    try {
      this.controller.failed(category, error);
    } catch {
      // The reporter is broken too. The application must not suffer for either.
    }
  }
}
