import { AsyncLocalStorage } from 'node:async_hooks';
import { ControllerAttachment } from './attachment.ts';
import { CAPACITY, createBits } from './bits.ts';
import { CategoryHandle, CategoryRegistry, type Decider } from './categories.ts';
import { countDrop, DROP, DROP_SLOTS, type DropReason, dropsOf } from './drops.ts';
import { NamedTenants } from './named-tenants.ts';
import { TenantCallCounts } from './tallies.ts';
import type { HostGate, ThreadHost } from './thread-host.ts';
import type { ThreadLink } from './thread-link.ts';
import type { GateMemory } from './thread-memory.ts';
import type {
  Attachment,
  Attributes,
  CategoryDescriptor,
  CategoryOptions,
  Controller,
  Described,
  Gate,
  GatedCategory,
  Refusal,
  Span,
} from './types.ts';
import { InterestWatchers } from './watchers.ts';

/**
 * Maximum depth of nested spans on one stack. Each takes about ten frames, and a recursive function must not overflow the
 * stack because its debug category is on.
 */
const MAX_NESTED_SPANS = 64;

const NO_REFUSALS: readonly undefined[] = [];

/** Content of the async context: a tenant, and its bitset as of an epoch. */
interface TenantContext {
  readonly tenantId: string;
  words: Uint32Array;
  epoch: number;
}

/**
 * The gate. Decisions are computed when a category is switched. A check reads only `interest` while a category is off for
 * every tenant; then the tenant's override decides, then the base.
 */
export class GateCore implements Gate, Decider {
  /** Categories that are on globally or for some tenant. The only array that is read while everything is off. */
  readonly #interest: Uint32Array;
  /** Categories that at least one tenant overrides. Where a bit is clear, the tenant is not looked up. */
  readonly #tenanted: Uint32Array;
  /** Categories that are on where no override applies. */
  readonly #base: Uint32Array;
  /** A tap wants the calls of the category, or some of them. */
  readonly #tapped: Uint32Array;
  /** The base is set by a control, a setting or the configuration, and not by the default. */
  readonly #settled: Uint32Array;
  readonly #storage = new AsyncLocalStorage<TenantContext>();
  readonly #calls: Float64Array;
  readonly #dropped: Float64Array;
  readonly tenantCalls = new TenantCallCounts();
  readonly #registry: CategoryRegistry;
  readonly #watchers: InterestWatchers;
  readonly #controlListeners: ((controlled: boolean) => void)[] = [];
  #controlled = false;
  /** The last one is active. */
  readonly #attachments: ControllerAttachment[] = [];
  #active: ControllerAttachment | undefined;
  /** In a worker thread: the link to the main thread, which controls this gate while no control plane is attached here. */
  #link: ThreadLink | undefined;
  #linked: ControllerAttachment | undefined;
  /** In the main thread: the worker threads, once a control plane is attached. */
  #host: ThreadHost | undefined;
  readonly #hostThreads: (() => ThreadHost | undefined) | undefined;
  /** Incremented when bitsets held by contexts become stale. */
  #epoch = 1;
  /** Whether `runWithTenant` was ever called. Until then, emitting does not read the async context. */
  #hasContexts = false;
  readonly #named = new NamedTenants();
  /** The active sink's refusals, unless calls are counted per tenant as well. */
  #refusals: readonly (Refusal | undefined)[] = NO_REFUSALS;
  /** Whether the active controller has a `currentTenant` hook. */
  #hasTenantHook = false;
  /** True while an attribute function or a sink runs. Their own calls are dropped to prevent infinite recursion. */
  #emitting = false;
  /** Number of span functions on the stack. */
  #nestedSpans = 0;

  constructor({ memory = ownMemory(), hostThreads }: GateCoreOptions = {}) {
    this.#interest = memory.interest;
    this.#tenanted = memory.tenanted;
    this.#base = memory.base;
    this.#tapped = memory.tapped;
    this.#settled = memory.settled;
    this.#calls = memory.calls;
    this.#dropped = memory.dropped;
    this.#hostThreads = hostThreads && (() => hostThreads(this.#asHost()));
    this.#registry = new CategoryRegistry((descriptor) => new CategoryHandle(descriptor, this.#interest, this));
    this.#watchers = new InterestWatchers(this.#interest, (index, error) =>
      this.#active?.failed(this.#registry.descriptors[index]!, error),
    );
  }

  category(name: string, options?: CategoryOptions): GatedCategory {
    const limit = this.#active?.controller.maxCategories ?? CAPACITY;
    return this.#registry.getOrRegister(name, options, limit, this.#announce);
  }

  readonly #announce = (descriptor: CategoryDescriptor): void => {
    this.#host?.registered();
    for (const attachment of [...this.#attachments]) attachment.registered(descriptor);
  };

  suggestDescription({ name }: CategoryHandle, description: string, instead?: string): void {
    this.#registry.suggestDescription(name, description, instead);
  }

  setDefault({ name }: CategoryHandle, enabled: boolean): void {
    this.#registry.setDefault(name, enabled, this.#announce);
  }

  watch({ descriptor }: CategoryHandle, listener: (wanted: boolean) => void): () => void {
    this.#link?.watched();
    return this.#watchers.watch(descriptor.index, listener);
  }

  /** Reports what the main thread has written to the bits of this thread. */
  bitsWritten(): void {
    this.#reportControl();
    this.#watchers.checkAll();
  }

  onControlled(listener: (controlled: boolean) => void): void {
    this.#controlListeners.push(listener);
    if (this.#controlled) listener(true);
  }

  /** An enabled control plane decides. */
  get #isControlled(): boolean {
    if (this.#active !== undefined && this.#active === this.#linked) return this.#link?.controlled === true;
    return this.#active !== undefined && !this.#active.suspended;
  }

  #reportControl(): void {
    const controlled = this.#isControlled;
    if (controlled === this.#controlled) return;
    this.#controlled = controlled;
    for (const listener of this.#controlListeners) listener(controlled);
  }

  categories(): readonly CategoryDescriptor[] {
    return this.#registry.descriptors;
  }

  runWithTenant<T>(tenantId: string, fn: () => T): T {
    this.#hasContexts = true;
    this.#named.add(tenantId);
    return this.#storage.run({ tenantId, words: this.#base, epoch: 0 }, fn);
  }

  hasNamed(tenantId: string): boolean {
    return this.#named.has(tenantId);
  }

  callsTotal(index: number): number {
    return (this.#calls[index] ?? 0) + (this.#host?.callsTotal(index) ?? 0);
  }

  droppedTotal(index: number, reason?: DropReason): number {
    return dropsOf(this.#dropped, index, reason) + (this.#host?.droppedTotal(index, reason) ?? 0);
  }

  attach(controller: Controller): Attachment {
    this.#host ??= this.#hostThreads?.();
    const attachment = new ControllerAttachment(controller, this);
    this.#attachments.push(attachment);
    this.#activate();
    return attachment;
  }

  /** Follows the main thread's gate while no control plane is attached in this thread. */
  follow(link: ThreadLink): ControllerAttachment {
    const attachment = new ControllerAttachment(link.controller, this, this.#base, this.#tapped, this.#settled);
    this.#link = link;
    this.#linked = attachment;
    this.#attachments.unshift(attachment);
    this.#activate();
    return attachment;
  }

  #asHost(): HostGate {
    const core = this;
    return {
      interest: this.#interest,
      tenanted: this.#tenanted,
      base: this.#base,
      tapped: this.#tapped,
      settled: this.#settled,
      get countsTenants() {
        return core.#active?.controller.countsTenants === true;
      },
      get maxCategories() {
        return core.#active?.controller.maxCategories ?? CAPACITY;
      },
      get controlled() {
        return core.#isControlled;
      },
      categories: () => this.categories(),
      register: (name, options) => {
        this.category(name, options);
        return this.#registry.indexOf(name);
      },
      overrides: () => this.#active?.overrides() ?? [],
      emit: (index, message, attributes, tenantId, off) =>
        this.#emitForThread(index, message, attributes, tenantId, off),
      failed: (index, error) => this.#active?.failed(this.#registry.descriptors[index]!, error),
      countTenant: (tenantId, index, calls) => this.tenantCalls.count(tenantId, index, calls),
    };
  }

  overridden(attachment: ControllerAttachment, tenantId: string, index: number, on: boolean | undefined): void {
    if (attachment === this.#active) this.#host?.overridden(tenantId, index, on);
  }

  changed(attachment: ControllerAttachment, word: number): void {
    if (attachment === this.#active) this.#apply(attachment, word);
  }

  tenantsChanged(attachment: ControllerAttachment): void {
    if (attachment === this.#active) this.#epoch += 1;
  }

  replaced(attachment: ControllerAttachment): void {
    if (attachment === this.#active) this.#activate();
  }

  detached(attachment: ControllerAttachment): void {
    const at = this.#attachments.indexOf(attachment);
    if (at === -1) return;
    this.#attachments.splice(at, 1);
    this.#activate();
  }

  #activate(): void {
    const active = this.#attachments.at(-1);
    if (active !== this.#active) {
      if (active === this.#linked) this.#link?.resume();
      else if (this.#active === this.#linked) this.#link?.pause();
    }
    this.#active = active;
    this.#refusals = (active?.controller.countsTenants !== true && active?.controller.sink.refusals) || NO_REFUSALS;
    this.#hasTenantHook = active?.controller.currentTenant !== undefined;
    this.#epoch += 1;
    this.#host?.replaced();
    for (let word = 0; word < this.#interest.length; word++) this.#apply(active, word);
    this.#reportControl();
  }

  #apply(active: ControllerAttachment | undefined, word: number): void {
    // The main thread writes the bits of a gate that follows it.
    if (active === undefined || active !== this.#linked) {
      this.#interest[word] = active?.interest(word) ?? 0;
      this.#tenanted[word] = active?.tenanted[word] ?? 0;
      this.#base[word] = active?.base[word] ?? 0;
      this.#tapped[word] = active?.tapped[word] ?? 0;
      this.#settled[word] = active?.suspended === false ? active.settled[word]! : 0;
      this.#host?.applied(word);
    }
    this.#watchers.check(word);
  }

  /** Whether a call of a category with a set interest bit reaches an output or a tap. */
  resolve(category: CategoryHandle): boolean {
    return this.#isOn(category) || this.#isTapped(category);
  }

  #isTapped({ descriptor, word, mask }: CategoryHandle): boolean {
    if ((this.#tapped[word]! & mask) === 0) return false;
    const active = this.#active!;
    const { sink } = active.controller;
    if (sink.tapped === undefined) return true;
    try {
      return sink.tapped(descriptor, this.#tenantOf(descriptor, active));
    } catch (error) {
      active.failed(descriptor, error);
      return false;
    }
  }

  #isOn(category: CategoryHandle): boolean {
    const { word, mask } = category;
    if ((this.#tenanted[word]! & mask) !== 0) {
      if (this.#link !== undefined && this.#active === this.#linked && this.#link.catchUp())
        this.#active?.baseChanged();
      const context = this.#storage.getStore();
      if (context !== undefined) {
        const words = context.epoch === this.#epoch ? context.words : this.#refresh(context);
        return (words[word]! & mask) !== 0;
      }
      if (this.#hasTenantHook) return this.#resolveWithHook(category);
    }
    return (this.#base[word]! & mask) !== 0;
  }

  #resolveWithHook({ descriptor, word, mask }: CategoryHandle): boolean {
    const active = this.#active!;
    const tenantId = active.currentTenant(descriptor);
    const words = tenantId === undefined ? this.#base : active.wordsOf(tenantId);
    return (words[word]! & mask) !== 0;
  }

  #tenantOf(descriptor: CategoryDescriptor, active: ControllerAttachment): string | undefined {
    const context = this.#hasContexts ? this.#storage.getStore() : undefined;
    if (context !== undefined) return context.tenantId;
    return this.#hasTenantHook ? active.currentTenant(descriptor) : undefined;
  }

  #count({ index }: CategoryDescriptor, active: ControllerAttachment, tenantId: string | undefined): void {
    this.#calls[index]! += 1;
    if (tenantId !== undefined && active.controller.countsTenants === true) this.tenantCalls.count(tenantId, index);
  }

  #refresh(context: TenantContext): Uint32Array {
    context.words = this.#active?.wordsOf(context.tenantId) ?? this.#base;
    context.epoch = this.#epoch;
    return context.words;
  }

  emit(category: CategoryHandle, message: string, attributes: Attributes | (() => Attributes) | undefined): void {
    if (this.#refuses(category, message)) return;
    const on = this.#isOn(category);
    if (!on && !this.#isTapped(category)) return;
    const { descriptor } = category;
    const active = this.#active!;
    if (this.#emitting) {
      if (on) this.#dropNested(descriptor, active);
      return;
    }
    this.#emitting = true;
    try {
      const tenantId = this.#tenantOf(descriptor, active);
      if (on) this.#count(descriptor, active, tenantId);
      this.#sendToSink(descriptor, active, message, attributes, tenantId, on);
    } finally {
      this.#emitting = false;
    }
  }

  /** Drops a call whose message the budget refuses, before anything else is done for it. */
  #refuses({ descriptor: { index }, word, mask }: CategoryHandle, message: string): boolean {
    const refusal = this.#refusals[index];
    if (refusal === undefined || refusal.message !== message || this.#emitting) return false;
    if (((this.#tenanted[word]! | this.#tapped[word]!) & mask) !== 0) return false;
    this.#calls[index]! += 1;
    refusal.dropped += 1;
    countDrop(this.#dropped, index, refusal.code);
    return true;
  }

  /** Emits to the sink. Never throws: a failing sink counts as a drop. */
  #sendToSink(
    descriptor: CategoryDescriptor,
    active: ControllerAttachment,
    message: string,
    attributes: Attributes | (() => Attributes) | undefined,
    tenantId: string | undefined,
    on: boolean,
  ): void {
    const { sink } = active.controller;
    try {
      const outcome = on
        ? sink.emit(descriptor, message, attributes, tenantId)
        : sink.tap?.(descriptor, message, attributes, tenantId);
      if (typeof outcome === 'number') countDrop(this.#dropped, descriptor.index, outcome);
      else if (outcome !== undefined) active.failed(descriptor, outcome.error);
    } catch (error) {
      if (on) countDrop(this.#dropped, descriptor.index, DROP.failed);
      active.failed(descriptor, error);
    }
  }

  taps({ word, mask }: CategoryHandle): boolean {
    return (this.#tapped[word]! & mask) !== 0;
  }

  decides({ descriptor, word, mask }: CategoryHandle): boolean {
    const active = this.#active;
    if (active !== undefined && (this.#tenanted[word]! & mask) !== 0) {
      const tenantId = this.#tenantOf(descriptor, active);
      if (tenantId !== undefined && active.overrideOf(tenantId, descriptor.index) !== undefined) return true;
    }
    return (this.#settled[word]! & mask) !== 0;
  }

  allows(category: CategoryHandle, admitted: boolean): boolean {
    if (!category.wanted) return admitted && !this.decides(category);
    return this.decides(category) ? this.resolve(category) : admitted || this.#isTapped(category);
  }

  passes(
    category: CategoryHandle,
    text: string,
    describe: () => Described,
    bytes: number,
    admitted: boolean | undefined,
  ): boolean {
    if (admitted !== undefined && !this.decides(category)) return this.#observe(category, describe, admitted);
    if (this.#refuses(category, text)) return false;
    const on = this.#isOn(category);
    if (!on && !this.#isTapped(category)) return false;
    const { descriptor } = category;
    const active = this.#active!;
    if (this.#emitting) {
      if (on) this.#dropNested(descriptor, active);
      return false;
    }
    this.#emitting = true;
    try {
      const tenantId = this.#tenantOf(descriptor, active);
      if (on) this.#count(descriptor, active, tenantId);
      return this.#offerToSink(descriptor, active, text, describe, bytes, tenantId, on);
    } finally {
      this.#emitting = false;
    }
  }

  /** Counts a line that is written whatever the category's state is, or only passes it to the taps. */
  #observe(category: CategoryHandle, describe: () => Described, admitted: boolean): boolean {
    const { descriptor } = category;
    const active = this.#active!;
    const nested = this.#emitting;
    this.#emitting = true;
    try {
      const tenantId = this.#tenantOf(descriptor, active);
      if (admitted) this.#count(descriptor, active, tenantId);
      if (!nested && this.#isTapped(category)) {
        this.#offerToSink(descriptor, active, '', describe, 0, tenantId, false);
      }
    } finally {
      this.#emitting = nested;
    }
    return admitted;
  }

  /** Returns whether the line may be written. Never throws: a line that cannot be checked is dropped. */
  #offerToSink(
    descriptor: CategoryDescriptor,
    active: ControllerAttachment,
    text: string,
    describe: () => Described,
    bytes: number,
    tenantId: string | undefined,
    on: boolean,
  ): boolean {
    const { sink } = active.controller;
    try {
      if (on) {
        const outcome = sink.pass?.(descriptor, text, describe, bytes, tenantId);
        if (typeof outcome === 'number') countDrop(this.#dropped, descriptor.index, outcome);
        else if (outcome !== undefined) active.failed(descriptor, outcome.error);
        return typeof outcome !== 'number';
      }
      const { message, attributes } = describe();
      const failure = sink.tap?.(descriptor, message, attributes, tenantId);
      if (failure !== undefined) active.failed(descriptor, failure.error);
    } catch (error) {
      if (on) countDrop(this.#dropped, descriptor.index, DROP.failed);
      active.failed(descriptor, error);
    }
    return false;
  }

  /** Does not call the `currentTenant` hook, because the hook could emit again. */
  #dropNested(descriptor: CategoryDescriptor, active: ControllerAttachment): void {
    this.#count(descriptor, active, this.#hasContexts ? this.#storage.getStore()?.tenantId : undefined);
    countDrop(this.#dropped, descriptor.index, DROP.nested);
  }

  /** Emits a record of a worker thread, which has already decided and counted it. */
  #emitForThread(
    index: number,
    message: string,
    attributes: Attributes | (() => Attributes) | undefined,
    tenantId: string | undefined,
    off: boolean,
  ): void {
    const descriptor = this.#registry.descriptors[index];
    if (descriptor === undefined) return;
    const active = this.#active;
    if (active === undefined) {
      if (!off) countDrop(this.#dropped, index, DROP.thread);
      return;
    }
    const before = this.#emitting;
    this.#emitting = true;
    this.#sendToSink(descriptor, active, message, attributes, tenantId, !off);
    this.#emitting = before;
  }

  /** Whether a call of `span` is traced; it counts here, before a frame is added to the stack. */
  traces(category: CategoryHandle, name: string): boolean {
    if (!this.#isOn(category)) return false;
    const { descriptor } = category;
    const active = this.#active!;
    if (this.#emitting || this.#nestedSpans >= MAX_NESTED_SPANS) {
      this.#dropNested(descriptor, active);
      return false;
    }
    const tenantId = this.#tenantOf(descriptor, active);
    this.#count(descriptor, active, tenantId);
    const dropped = active.controller.sink.admitSpan?.(descriptor, name, tenantId);
    if (dropped === undefined) return true;
    countDrop(this.#dropped, descriptor.index, dropped);
    return false;
  }

  /** Runs `fn` in a span of the sink. Even if the sink fails, `fn` runs exactly once and the caller gets its outcome. */
  trace<T>({ descriptor }: CategoryHandle, name: string, fn: (span?: Span) => T): T {
    const active = this.#active!;
    const tenantId = this.#tenantOf(descriptor, active);
    let started = false;
    let threw = false;
    let thrown: unknown;
    let value: T | undefined;
    const once = (span?: Span): T => {
      if (!started) {
        started = true;
        // `fn` is application code: calls that it makes are not nested emissions.
        this.#emitting = false;
        try {
          value = fn(span);
        } catch (error) {
          threw = true;
          thrown = error;
        } finally {
          this.#emitting = true;
        }
      }
      if (threw) throw thrown;
      return value as T;
    };
    this.#emitting = true;
    this.#nestedSpans += 1;
    try {
      const result = active.controller.sink.span(descriptor, name, once, tenantId);
      if (started && !threw) return result;
    } catch (error) {
      if (!threw || error !== thrown) active.failed(descriptor, error);
    } finally {
      this.#emitting = false;
      this.#nestedSpans -= 1;
    }
    if (threw) throw thrown;
    if (started) return value as T;
    started = true;
    countDrop(this.#dropped, descriptor.index, DROP.failed);
    return fn();
  }
}

export interface GateCoreOptions {
  /** @default memory that is not shared between threads */
  readonly memory?: GateMemory;
  /** Called in the main thread when the first control plane attaches. @default worker threads do not follow */
  readonly hostThreads?: (gate: HostGate) => ThreadHost | undefined;
}

function ownMemory(): GateMemory {
  return {
    interest: createBits(),
    tenanted: createBits(),
    base: createBits(),
    tapped: createBits(),
    settled: createBits(),
    calls: new Float64Array(CAPACITY),
    dropped: new Float64Array(DROP_SLOTS),
  };
}
