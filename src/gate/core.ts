import { AsyncLocalStorage } from 'node:async_hooks';
import { ControllerAttachment } from './attachment.ts';
import { CAPACITY, createBits } from './bits.ts';
import { CategoryHandle, CategoryRegistry, type Decider } from './categories.ts';
import { TenantCallCounts } from './tallies.ts';
import type {
  Attachment,
  Attributes,
  Category,
  CategoryDescriptor,
  CategoryOptions,
  Controller,
  Gate,
  Span,
} from './types.ts';

/** What is in the async context: a tenant, and what was on for it at an epoch. */
interface TenantContext {
  readonly tenantId: string;
  words: Uint32Array;
  epoch: number;
}

/**
 * The gate. Everything that decides is done when something is switched; a check reads `interest` alone while a category
 * is off for everybody, and what follows is narrower at each step: a tenant's override, then the base.
 */
export class GateCore implements Gate, Decider {
  /** Whoever could want a category now: the one array that is read while everything is off. */
  readonly #interest = createBits();
  /** Some tenant overrides the category; where clear, nobody needs to know the tenant. */
  readonly #tenanted = createBits();
  /** On for everybody without an override. */
  readonly #base = createBits();
  readonly #storage = new AsyncLocalStorage<TenantContext>();
  readonly #calls = new Float64Array(CAPACITY);
  readonly #dropped = new Float64Array(CAPACITY);
  readonly tenantCalls = new TenantCallCounts();
  readonly #registry: CategoryRegistry;
  /** The last one is active. */
  readonly #attachments: ControllerAttachment[] = [];
  #active: ControllerAttachment | undefined;
  /** Counts up whenever more or less may be on for a tenant than a context holds. */
  #epoch = 1;
  /** Whether there ever was a tenant's context. Emitting reads none before, so that it costs nothing without tenants. */
  #hasContexts = false;
  /** Whether the active one knows a tenant where no context does. */
  #asksForTenant = false;
  /** True while an attribute function or a sink runs: what they emit themselves is cut, or it would never end. */
  #emitting = false;

  constructor() {
    this.#registry = new CategoryRegistry((descriptor) => new CategoryHandle(descriptor, this.#interest, this));
  }

  category(name: string, options?: CategoryOptions): Category {
    const limit = this.#active?.controller.maxCategories ?? CAPACITY;
    return this.#registry.take(name, options, limit, (descriptor) => {
      for (const attachment of [...this.#attachments]) attachment.registered(descriptor);
    });
  }

  categories(): readonly CategoryDescriptor[] {
    return this.#registry.descriptors;
  }

  runWithTenant<T>(tenantId: string, fn: () => T): T {
    this.#hasContexts = true;
    return this.#storage.run({ tenantId, words: this.#base, epoch: 0 }, fn);
  }

  callsTotal(index: number): number {
    return this.#calls[index] ?? 0;
  }

  droppedTotal(index: number): number {
    return this.#dropped[index] ?? 0;
  }

  attach(controller: Controller): Attachment {
    const attachment = new ControllerAttachment(controller, this);
    this.#attachments.push(attachment);
    this.#activate();
    return attachment;
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
    this.#active = active;
    this.#asksForTenant = active?.controller.currentTenant !== undefined;
    this.#epoch += 1;
    for (let word = 0; word < this.#interest.length; word++) this.#apply(active, word);
  }

  #apply(active: ControllerAttachment | undefined, word: number): void {
    this.#interest[word] = active?.interest(word) ?? 0;
    this.#tenanted[word] = active?.tenanted[word] ?? 0;
    this.#base[word] = active?.base[word] ?? 0;
  }

  /** Whether a category with a set interest bit is on here and now. */
  resolve(category: CategoryHandle): boolean {
    const { word, mask } = category;
    if ((this.#tenanted[word]! & mask) !== 0) {
      const context = this.#storage.getStore();
      if (context !== undefined) {
        const words = context.epoch === this.#epoch ? context.words : this.#refresh(context);
        return (words[word]! & mask) !== 0;
      }
      if (this.#asksForTenant) return this.#resolveAsked(category);
    }
    return (this.#base[word]! & mask) !== 0;
  }

  #resolveAsked({ descriptor, word, mask }: CategoryHandle): boolean {
    const active = this.#active!;
    const tenantId = active.currentTenant(descriptor);
    const words = tenantId === undefined ? this.#base : active.wordsOf(tenantId);
    return (words[word]! & mask) !== 0;
  }

  #tenantOf(descriptor: CategoryDescriptor, active: ControllerAttachment): string | undefined {
    const context = this.#hasContexts ? this.#storage.getStore() : undefined;
    if (context !== undefined) return context.tenantId;
    return this.#asksForTenant ? active.currentTenant(descriptor) : undefined;
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
    if (!this.resolve(category)) return;
    const { descriptor } = category;
    const active = this.#active!;
    if (this.#emitting) {
      this.#dropped[descriptor.index]! += 1;
      return;
    }
    this.#emitting = true;
    try {
      const tenantId = this.#tenantOf(descriptor, active);
      const failure = active.controller.sink.emit(descriptor, message, attributes, tenantId);
      this.#count(descriptor, active, tenantId);
      if (failure !== undefined) active.failed(descriptor, failure.error);
    } catch (error) {
      this.#dropped[descriptor.index]! += 1;
      active.failed(descriptor, error);
    } finally {
      this.#emitting = false;
    }
  }

  /**
   * Runs `fn` in a span of the sink. Whatever the sink does, `fn` runs exactly once and its own outcome is what the
   * caller gets.
   */
  trace<T>(category: CategoryHandle, name: string, fn: (span?: Span) => T): T {
    if (!this.resolve(category)) return fn();
    const { index } = category.descriptor;
    if (this.#emitting) {
      this.#dropped[index]! += 1;
      return fn();
    }
    return this.#traceOnce(category.descriptor, name, fn);
  }

  #traceOnce<T>(descriptor: CategoryDescriptor, name: string, fn: (span?: Span) => T): T {
    const active = this.#active!;
    const tenantId = this.#tenantOf(descriptor, active);
    let started = false;
    let threw = false;
    let thrown: unknown;
    let value: T | undefined;
    const once = (span?: Span): T => {
      if (!started) {
        started = true;
        this.#count(descriptor, active, tenantId);
        // The function is the application's own: what it emits is no recursion.
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
    try {
      const result = active.controller.sink.span(descriptor, name, once, tenantId);
      if (started && !threw) return result;
    } catch (error) {
      if (!threw || error !== thrown) active.failed(descriptor, error);
    } finally {
      this.#emitting = false;
    }
    if (threw) throw thrown;
    if (started) return value as T;
    started = true;
    this.#dropped[descriptor.index]! += 1;
    return fn();
  }
}
