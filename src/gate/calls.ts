import { AsyncLocalStorage } from 'node:async_hooks';
import type { ControllerAttachment, Override } from './attachment.ts';
import type { CategoryHandle } from './categories.ts';
import { countDrop, DROP } from './drops.ts';
import { ANY_LEVEL, LEVEL } from './levels.ts';
import type { GateMemory } from './memory.ts';
import { TenantCallCounts } from './tallies.ts';
import type { CallAttributes, CategoryDescriptor, OwnLine, Refusal, Span, TappedCall } from './types.ts';

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
 * The calls of categories whose interest bit is set: decides each, counts it and hands it to the active control plane's
 * sink. A tenant's override decides first, then the base.
 */
export class Calls {
  readonly memory: GateMemory;
  readonly tenantCalls = new TenantCallCounts();
  // Own fields of the hot path: a load less than through `memory`.
  readonly #tenanted: Uint32Array;
  readonly #base: Uint32Array;
  readonly #tapped: Uint32Array;
  readonly #recorded: Uint32Array;
  readonly #leastLevels: Uint8Array;
  readonly #calls: Float64Array;
  readonly #dropped: Float64Array;
  readonly #storage = new AsyncLocalStorage<TenantContext>();
  #active: ControllerAttachment | undefined;
  /** Incremented when bitsets held by contexts become stale. */
  #epoch = 1;
  /** Whether `runWithTenant` was ever called. Until then, emitting does not read the async context. */
  #hasContexts = false;
  /** The active sink's refusals, unless calls are counted per tenant as well. */
  #refusals: readonly (Refusal | undefined)[] = NO_REFUSALS;
  /** Whether the active controller has a `currentTenant` hook. */
  #hasTenantHook = false;
  /** True while an attribute function or a sink runs. Their own calls are dropped to prevent infinite recursion. */
  #emitting = false;
  /** Number of span functions on the stack. */
  #nestedSpans = 0;

  constructor(memory: GateMemory) {
    this.memory = memory;
    this.#tenanted = memory.tenanted;
    this.#base = memory.base;
    this.#tapped = memory.tapped;
    this.#recorded = memory.recorded;
    this.#leastLevels = memory.leastLevels;
    this.#calls = memory.calls;
    this.#dropped = memory.dropped;
  }

  /** Makes another control plane's attachment the active one. */
  activate(active: ControllerAttachment | undefined): void {
    this.#active = active;
    this.#refusals = (active?.controller.countsTenants !== true && active?.controller.sink.refusals) || NO_REFUSALS;
    this.#hasTenantHook = active?.controller.currentTenant !== undefined;
    this.bitsChanged();
  }

  /** Called when the base or an override changed. */
  bitsChanged(): void {
    this.#epoch += 1;
  }

  runWithTenant<T>(tenantId: string, fn: () => T): T {
    this.#hasContexts = true;
    return this.#storage.run({ tenantId, words: this.#base, epoch: 0 }, fn);
  }

  /** Whether a call of a category with a set interest bit reaches an output or a tap, or is recorded. */
  resolve(category: CategoryHandle, level: number = LEVEL.debug): boolean {
    return this.#isOn(category, level) || this.#isWanted(category);
  }

  /** The least urgent level that comes out for the current tenant while the category is on; 0 for every line. */
  levelOf(category: CategoryHandle): number {
    const { index } = category.descriptor;
    if (this.#leastLevels[index] === ANY_LEVEL) return ANY_LEVEL;
    return this.#ownOf(category)?.level ?? this.memory.levels[index]!;
  }

  taps({ word, mask }: CategoryHandle): boolean {
    return (this.#tapped[word]! & mask) !== 0;
  }

  records({ word, mask }: CategoryHandle): boolean {
    return (this.#recorded[word]! & mask) !== 0;
  }

  /** Whether its calls are recorded, and nothing else is done with them for anybody. */
  onlyRecords({ word, mask }: CategoryHandle): boolean {
    return (
      (this.#recorded[word]! & mask) !== 0 &&
      ((this.#base[word]! | this.#tenanted[word]! | this.#tapped[word]!) & mask) === 0
    );
  }

  /** Whether a control, a setting or the configuration decides for the current tenant, and not the default. */
  decides(category: CategoryHandle): boolean {
    return (this.memory.settled[category.word]! & category.mask) !== 0 || this.#ownOf(category) !== undefined;
  }

  /** What the current tenant has of its own. */
  #ownOf({ descriptor, word, mask }: CategoryHandle): Override | undefined {
    if (this.#active === undefined || (this.#tenanted[word]! & mask) === 0) return undefined;
    const tenantId = this.#tenantOf(descriptor);
    return tenantId === undefined ? undefined : this.#active.overridesOf(tenantId).get(descriptor.index);
  }

  allows(category: CategoryHandle, admitted: boolean, level: number): boolean {
    if (!category.wanted) return admitted && !this.decides(category);
    return this.decides(category) ? this.resolve(category, level) : admitted || this.#isWanted(category);
  }

  /**
   * Decides, counts and emits a call.
   * @param own of a line that its logger writes; `message` and `given` are not looked at then
   * @returns whether the sink took it; the logger may then write its line
   */
  emit(
    category: CategoryHandle,
    message: string,
    given: CallAttributes,
    own?: OwnLine,
    level: number = LEVEL.debug,
  ): boolean {
    if (!this.records(category)) return this.#emitNow(category, message, given, own, level);
    if (this.onlyRecords(category)) return this.record(category, message, given, level, own);
    const shared = once(given);
    const written = this.#emitNow(category, message, shared, own, level);
    this.record(category, message, shared, level, own, written);
    return written;
  }

  #emitNow(
    category: CategoryHandle,
    message: string,
    given: CallAttributes,
    own: OwnLine | undefined,
    level: number,
  ): boolean {
    if (this.#refuses(category)) return false;
    const on = this.#isOn(category, level);
    if (!on && !this.#asks('tapped', category)) return false;
    const { descriptor } = category;
    if (this.#emitting) {
      if (on) this.#dropNested(descriptor);
      return false;
    }
    this.#emitting = true;
    try {
      const tenantId = this.#tenantOf(descriptor);
      if (!on) return this.#tap({ category: descriptor, message, given, tenantId, level }, own);
      this.#count(descriptor, tenantId);
      return this.#deliver(descriptor, message, given, tenantId, own);
    } finally {
      this.#emitting = false;
    }
  }

  /**
   * Counts a line that is written whatever the category's state is, or only passes it to activations and taps.
   * @returns whether it is written
   */
  observe(category: CategoryHandle, own: OwnLine, isWritten: boolean, level: number): boolean {
    const { descriptor } = category;
    const nested = this.#emitting;
    this.#emitting = true;
    try {
      const tenantId = this.#tenantOf(descriptor);
      if (isWritten) this.#count(descriptor, tenantId);
      if (nested) return isWritten;
      const call = { category: descriptor, message: '', given: undefined, tenantId, level, isCounted: isWritten };
      const comesOut = (this.#asks('tapped', category) && this.#tap(call, own)) || isWritten;
      this.#emitting = false;
      if (this.records(category)) this.record(category, '', undefined, level, own, comesOut);
      return comesOut;
    } finally {
      this.#emitting = nested;
    }
  }

  /**
   * Emits a record of a worker thread, which has already decided and counted it, except by tenant.
   * @param isOn whether it is on there
   */
  emitForThread(call: TappedCall, isOn: boolean): void {
    const { category, message, given, tenantId } = call;
    if (this.#active === undefined) {
      if (isOn) countDrop(this.#dropped, category.index, DROP.thread);
      return;
    }
    const before = this.#emitting;
    this.#emitting = true;
    if (!isOn) this.#tap(call);
    else {
      if (tenantId !== undefined) this.#countTenant(category.index, tenantId);
      this.#deliver(category, message, given, tenantId);
    }
    this.#emitting = before;
  }

  /**
   * Hands a call that is on to the sink. Never throws: a call whose sink fails is dropped.
   * @returns whether the sink took it
   */
  #deliver(
    descriptor: CategoryDescriptor,
    message: string,
    given: CallAttributes,
    tenantId: string | undefined,
    own?: OwnLine,
  ): boolean {
    const active = this.#active;
    try {
      const { sink } = active!.controller;
      const outcome =
        own === undefined ? sink.emit(descriptor, message, given, tenantId) : sink.pass?.(descriptor, own, tenantId);
      if (typeof outcome === 'number') countDrop(this.#dropped, descriptor.index, outcome);
      else if (outcome !== undefined) active!.failed(descriptor, outcome.error);
      return typeof outcome !== 'number';
    } catch (error) {
      countDrop(this.#dropped, descriptor.index, DROP.failed);
      active?.failed(descriptor, error);
      return false;
    }
  }

  /**
   * Hands a call that is off to the sink's activations and taps, and counts it if it belongs to an activation. Never throws.
   * @returns whether it is written because of an activation
   */
  #tap(call: TappedCall, own?: OwnLine): boolean {
    const active = this.#active;
    const { category, tenantId, isCounted } = call;
    try {
      const described = own?.describe(own.given ?? []);
      if (own !== undefined && described === undefined) return false;
      const said = described && { message: described.message, given: described.attributes, isOwn: true };
      const outcome = active!.controller.sink.tap?.({ ...call, ...said });
      if (outcome === undefined) return false;
      const { activated, dropped, failure } = outcome;
      if (activated && !isCounted) this.#count(category, tenantId);
      if (dropped !== undefined && !isCounted) countDrop(this.#dropped, category.index, dropped);
      if (failure !== undefined) active!.failed(category, failure.error);
      return activated && dropped === undefined;
    } catch (error) {
      active?.failed(category, error);
      return false;
    }
  }

  /** Drops a call that the budget refuses, before anything else is done for it. */
  #refuses({ descriptor: { index }, word, mask }: CategoryHandle): boolean {
    const refusal = this.#refusals[index];
    if (refusal?.refused === undefined || this.#emitting || this.#leastLevels[index] !== ANY_LEVEL) return false;
    if (((this.#tenanted[word]! | this.#tapped[word]!) & mask) !== 0) return false;
    this.#calls[index]! += 1;
    refusal.dropped += 1;
    countDrop(this.#dropped, index, refusal.refused);
    return true;
  }

  /** Whether a tap, an activation or the recorder wants a call that is off. */
  #isWanted(category: CategoryHandle): boolean {
    return this.#asks('tapped', category) || this.#asks('records', category);
  }

  /** Asks the sink about a call that is made here and now. A hook that throws says no. */
  #asks(hook: 'tapped' | 'activated' | 'records', category: CategoryHandle): boolean {
    const active = this.#active;
    const hasBit = hook === 'records' ? this.records(category) : this.taps(category);
    if (!hasBit || active === undefined) return false;
    const { descriptor } = category;
    try {
      return active.controller.sink[hook]?.(descriptor, this.#tenantOf(descriptor)) === true;
    } catch (error) {
      active.failed(descriptor, error);
      return false;
    }
  }

  /**
   * Records a call. Never throws.
   * @returns false: a recorded call is not written
   */
  record(
    { descriptor }: CategoryHandle,
    message: string,
    given: CallAttributes,
    level: number,
    own?: OwnLine,
    isWritten = false,
  ): false {
    const active = this.#active;
    if (this.#emitting || active === undefined || own?.isRecorded === true) return false;
    this.#emitting = true;
    try {
      const tenantId = this.#tenantOf(descriptor);
      const call = { category: descriptor, message, given, tenantId, level, isWritten, own };
      const failure = active.controller.sink.record?.(call);
      if (failure !== undefined) active.failed(descriptor, failure.error);
    } catch (error) {
      active.failed(descriptor, error);
    } finally {
      this.#emitting = false;
    }
    return false;
  }

  #isOn(category: CategoryHandle, level: number = LEVEL.debug): boolean {
    return (
      this.#isSwitchedOn(category) &&
      (this.#leastLevels[category.descriptor.index] === ANY_LEVEL || level >= this.levelOf(category))
    );
  }

  #isSwitchedOn({ descriptor, word, mask }: CategoryHandle): boolean {
    if ((this.#tenanted[word]! & mask) !== 0) {
      const context = this.#storage.getStore();
      if (context !== undefined) {
        const words = context.epoch === this.#epoch ? context.words : this.#refresh(context);
        return (words[word]! & mask) !== 0;
      }
      const on = this.#hasTenantHook ? this.#overrideByHook(descriptor) : undefined;
      if (on !== undefined) return on;
    }
    return (this.#base[word]! & mask) !== 0;
  }

  #refresh(context: TenantContext): Uint32Array {
    context.words = this.#active?.wordsOf(context.tenantId) ?? this.#base;
    context.epoch = this.#epoch;
    return context.words;
  }

  #overrideByHook(descriptor: CategoryDescriptor): boolean | undefined {
    const tenantId = this.#active?.currentTenant(descriptor);
    return tenantId === undefined ? undefined : this.#active?.overridesOf(tenantId).get(descriptor.index)?.on;
  }

  #tenantOf(descriptor: CategoryDescriptor): string | undefined {
    const context = this.#hasContexts ? this.#storage.getStore() : undefined;
    if (context !== undefined) return context.tenantId;
    return this.#hasTenantHook ? this.#active?.currentTenant(descriptor) : undefined;
  }

  #count({ index }: CategoryDescriptor, tenantId: string | undefined): void {
    this.#calls[index]! += 1;
    if (tenantId !== undefined) this.#countTenant(index, tenantId);
  }

  #countTenant(index: number, tenantId: string): void {
    if (this.#active?.controller.countsTenants === true) this.tenantCalls.count(tenantId, index);
  }

  /** Does not call the `currentTenant` hook, because the hook could emit again. */
  #dropNested(descriptor: CategoryDescriptor): void {
    this.#count(descriptor, this.#hasContexts ? this.#storage.getStore()?.tenantId : undefined);
    countDrop(this.#dropped, descriptor.index, DROP.nested);
  }

  /** Whether a call of `span` is traced; it counts here, before a frame is added to the stack. */
  traces(category: CategoryHandle): boolean {
    if (!this.#isOn(category) && !this.#asks('activated', category)) return false;
    const { descriptor } = category;
    if (this.#emitting || this.#nestedSpans >= MAX_NESTED_SPANS) {
      this.#dropNested(descriptor);
      return false;
    }
    const tenantId = this.#tenantOf(descriptor);
    this.#count(descriptor, tenantId);
    const dropped = this.#active?.controller.sink.admitSpan?.(descriptor, tenantId);
    if (dropped === undefined) return true;
    countDrop(this.#dropped, descriptor.index, dropped);
    return false;
  }

  /** Runs `fn` in a span of the sink. Even if the sink fails, `fn` runs exactly once and the caller gets its outcome. */
  trace<T>({ descriptor }: CategoryHandle, name: string, fn: (span?: Span) => T): T {
    const active = this.#active;
    const tenantId = this.#tenantOf(descriptor);
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
      const result = active!.controller.sink.span(descriptor, name, once, tenantId);
      if (started && !threw) return result;
    } catch (error) {
      if (!threw || error !== thrown) active?.failed(descriptor, error);
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

/** A function that was given runs once, also where its call is both recorded and written. */
function once<T>(given: T): T {
  if (typeof given !== 'function') return given;
  let called = false;
  let value: unknown;
  const run = () => {
    if (!called) {
      value = given();
      called = true;
    }
    return value;
  };
  return run as T;
}
