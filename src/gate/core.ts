import { boundedTenant, ControllerAttachment, MAX_TENANT_LENGTH, type Override } from './attachment.ts';
import { CAPACITY } from './bits.ts';
import { Calls } from './calls.ts';
import { CategoryRegistry } from './categories.ts';
import { type DropReason, dropsOf } from './drops.ts';
import { createBuffers, type GateMemory, viewMemory } from './memory.ts';
import type { ThreadHost } from './thread-host.ts';
import type { ThreadLink } from './thread-link.ts';
import type { Attachment, CategoryDescriptor, CategoryOptions, Controller, Gate, GatedCategory } from './types.ts';
import { InterestWatchers } from './watchers.ts';
import { WorkContext } from './work.ts';

/** Most tenants that are remembered. */
const MAX_NAMED_TENANTS = 10_000;

export interface GateCoreOptions {
  /** @default memory that is not shared between threads */
  readonly memory?: GateMemory;
  /** Called in the main thread when the first control plane attaches. @default worker threads do not follow */
  readonly hostThreads?: (core: GateCore) => ThreadHost | undefined;
}

/**
 * The gate: its categories, the control planes attached to it, and the bits that they set. It is decided here,
 * when a category is switched, what a call does; a check reads only `interest` while a category is off for every tenant.
 */
export class GateCore implements Gate {
  readonly memory: GateMemory;
  readonly calls: Calls;
  readonly registry: CategoryRegistry;
  readonly work = new WorkContext();
  readonly #watchers: InterestWatchers;
  /** Tenants that the application has worked for. */
  readonly #namedTenants = new Set<string>();
  readonly #controlListeners: ((controlled: boolean) => void)[] = [];
  #wasControlled = false;
  /** The last one is active. */
  readonly #attachments: ControllerAttachment[] = [];
  #active: ControllerAttachment | undefined;
  /** In a worker thread: the link to the main thread, which controls this gate while no control plane is attached here. */
  #link: ThreadLink | undefined;
  #linked: ControllerAttachment | undefined;
  /** In the main thread: the worker threads, once a control plane is attached. */
  #host: ThreadHost | undefined;
  readonly #hostThreads: GateCoreOptions['hostThreads'];

  constructor({ memory = viewMemory(createBuffers(ArrayBuffer)), hostThreads }: GateCoreOptions = {}) {
    this.memory = memory;
    this.#hostThreads = hostThreads;
    this.calls = new Calls(memory);
    this.registry = new CategoryRegistry(this, (descriptor) => {
      this.#host?.registered();
      for (const attachment of [...this.#attachments]) attachment.registered(descriptor);
    });
    this.#watchers = new InterestWatchers(memory, (index, error) => this.failed(index, error));
  }

  category(name: string, options?: CategoryOptions): GatedCategory {
    return this.registry.getOrRegister(name, options ?? {}, this.maxCategories);
  }

  categories(): readonly CategoryDescriptor[] {
    return this.registry.descriptors;
  }

  runWithTenant<T>(tenantId: string, fn: () => T): T {
    this.#remember(tenantId);
    return this.calls.runWithTenant(boundedTenant(tenantId), fn);
  }

  hasNamed(tenantId: string): boolean {
    return this.#namedTenants.size >= MAX_NAMED_TENANTS || this.#namedTenants.has(tenantId);
  }

  get namedTenants(): ReadonlySet<string> {
    return this.#namedTenants;
  }

  #remember(tenantId: string): void {
    // A caller without types may pass anything: that must not throw into it.
    if (typeof tenantId !== 'string' || tenantId.length > MAX_TENANT_LENGTH) return;
    if (this.#namedTenants.size < MAX_NAMED_TENANTS) this.#namedTenants.add(tenantId);
  }

  get tenantCalls() {
    return this.calls.tenantCalls;
  }

  callsTotal(index: number): number {
    return (this.memory.calls[index] ?? 0) + (this.#host?.callsTotal(index) ?? 0);
  }

  droppedTotal(index: number, reason?: DropReason): number {
    return dropsOf(this.memory.dropped, index, reason) + (this.#host?.droppedTotal(index, reason) ?? 0);
  }

  watch(index: number, listener: (wanted: boolean) => void): () => void {
    return this.#watchers.watch(index, listener);
  }

  onControlled(listener: (controlled: boolean) => void): void {
    this.#controlListeners.push(listener);
    if (this.#wasControlled) listener(true);
  }

  attach(controller: Controller): Attachment {
    this.#host ??= this.#hostThreads?.(this);
    const attachment = new ControllerAttachment(controller, this);
    this.#attachments.push(attachment);
    this.#activate();
    return attachment;
  }

  /** Follows the main thread's gate while no control plane is attached in this thread. */
  follow(link: ThreadLink): ControllerAttachment {
    const attachment = new ControllerAttachment(link, this, this.memory);
    this.#link = link;
    this.#linked = attachment;
    this.#attachments.unshift(attachment);
    this.#activate();
    return attachment;
  }

  /** Reports what the main thread has written to the bits of this thread. */
  bitsWritten(): void {
    this.calls.bitsChanged();
    this.#reportControl();
    this.#watchers.checkAll();
  }

  get maxCategories(): number {
    return this.#active?.controller.maxCategories ?? CAPACITY;
  }

  /** Whether an enabled control plane decides. */
  get controlled(): boolean {
    if (this.#active !== undefined && this.#active === this.#linked) return this.#link?.controlled === true;
    return this.#active?.suspended === false;
  }

  /** All overrides of all tenants. */
  overrides(): Iterable<readonly [tenantId: string, index: number, own: Override]> {
    return this.#active?.overrides() ?? [];
  }

  failed(index: number, error: unknown): void {
    this.#active?.failed(this.registry.descriptors[index]!, error);
  }

  changed(attachment: ControllerAttachment, word: number): void {
    if (attachment !== this.#active) return;
    this.calls.bitsChanged();
    this.#apply(word);
  }

  overridden(attachment: ControllerAttachment, tenantId: string, index: number, own: Override | undefined): void {
    if (attachment === this.#active) this.#host?.overridden(tenantId, index, own);
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
    if (active !== this.#active && this.#link !== undefined) {
      if (active === this.#linked) this.#link.resume();
      else if (this.#active === this.#linked) this.#link.pause();
    }
    this.#active = active;
    this.calls.activate(active);
    this.#host?.replaced();
    for (let word = 0; word < this.memory.interest.length; word++) this.#apply(word);
    this.#reportControl();
  }

  #apply(word: number): void {
    const active = this.#active;
    // The main thread writes the bits of a gate that follows it.
    if (active === undefined || active !== this.#linked) {
      const { interest, tenanted, base, tapped, recorded, settled, levels, leastLevels } = this.memory;
      interest[word] = active?.interest(word) ?? 0;
      tenanted[word] = active?.tenanted[word] ?? 0;
      base[word] = active?.base[word] ?? 0;
      tapped[word] = active?.tapped[word] ?? 0;
      recorded[word] = active?.suspended === false ? active.recorded[word]! : 0;
      settled[word] = active?.suspended === false ? active.settled[word]! : 0;
      for (let index = word << 5; index < (word + 1) << 5; index++) {
        levels[index] = active?.levels[index] ?? 0;
        leastLevels[index] = active?.leastLevels[index] ?? 0;
      }
      this.#host?.applied(word);
    }
    this.#watchers.check(word);
  }

  #reportControl(): void {
    const { controlled } = this;
    if (controlled === this.#wasControlled) return;
    this.#wasControlled = controlled;
    for (const listener of this.#controlListeners) listener(controlled);
  }
}
