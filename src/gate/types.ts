// What applications see of the gate, and what a control plane attaches to it. This room imports nothing.

import type { DropCode, DropReason } from './drops.ts';

/** What an attribute may be: anything a person would log. How each kind is written is in docs/attributes.md. */
export type AttributeValue = unknown;

/** Any value but a function. */
export type NonFunction = string | number | bigint | boolean | symbol | null | undefined | NonFunctionObject;
/** Any object but a function, which alone has `Symbol.hasInstance`. */
export type NonFunctionObject = object & { readonly [Symbol.hasInstance]?: never };

/**
 * Attributes of a debug call: an object whose fields are the attributes, also one of an interface or a class, or an
 * error. No promise: they are needed at once.
 */
export type Attributes =
  | { readonly [name: string]: AttributeValue }
  | (NonFunctionObject & { readonly then?: NonFunction });

/** What OpenTelemetry takes as an attribute of a span. */
export type SpanAttributeValue =
  | string
  | number
  | boolean
  | readonly (string | null | undefined)[]
  | readonly (number | null | undefined)[]
  | readonly (boolean | null | undefined)[];

/** Attributes of a span or of an event in it. */
export interface SpanAttributes {
  readonly [name: string]: SpanAttributeValue | undefined;
}

/** The part of an OpenTelemetry span that a traced function gets. */
export interface Span {
  setAttribute(name: string, value: SpanAttributeValue): unknown;
  addEvent(name: string, attributes?: SpanAttributes): unknown;
}

/** A named group of debug points that is switched as a unit. The same name gives the same object, process-wide. */
export interface Category {
  readonly name: string;
  readonly description: string;
  /** Whether a debug call made here and now would be emitted: decided for the current tenant. */
  readonly enabled: boolean;
  /**
   * Emits a debug record when the category is on; otherwise costs one load and one bit test. Attributes that are
   * expensive to build go in a function, which runs only when the call is emitted. Never throws.
   */
  debug(message: string, attributes?: Attributes | (() => Attributes)): void;
  /**
   * Runs `fn` in an OpenTelemetry span when the category is on, else bare and without an argument. What `fn` returns
   * or throws is passed on; a promise ends the span when it settles.
   */
  span<T>(name: string, fn: (span?: Span) => T): T;
}

export interface CategoryOptions {
  /** One line for the operator who lists the categories. @default '' */
  readonly description?: string;
  /** The state it has where nobody switched it, once a control plane is attached. @default false */
  readonly enabled?: boolean;
}

/** A registered category as the control plane sees it. */
export interface CategoryDescriptor {
  /** Position in the bitset, for life. */
  readonly index: number;
  readonly name: string;
  readonly description: string;
  readonly defaultEnabled: boolean;
}

/** What an attribute function threw, or that it was asynchronous. */
export interface AttributeFailure {
  readonly error: unknown;
}

/** Where emitted calls go. It may throw: the gate catches, and reports through {@link Controller.failed}. */
export interface Sink {
  /**
   * @param attributes as the call gave them: a function is not called yet
   * @param tenantId the tenant in whose context the call was made
   * @returns why the call was dropped, or what went wrong with the attributes of one that was emitted all the same
   */
  emit(
    category: CategoryDescriptor,
    message: string,
    attributes: Attributes | (() => Attributes) | undefined,
    tenantId?: string,
  ): AttributeFailure | DropCode | undefined;
  span<T>(category: CategoryDescriptor, name: string, fn: (span?: Span) => T, tenantId?: string): T;
  /** Whether a span may be made. @returns why not; the function runs bare then. @default always */
  admitSpan?(category: CategoryDescriptor, name: string, tenantId?: string): DropCode | undefined;
  /**
   * Calls back with every category that is tapped, at once and whenever that changes. A tap takes calls beside the outputs,
   * without switching anything. @returns a function that ends it
   */
  watchTaps?(listener: (index: number, tapped: boolean) => void): () => void;
  /** Whether a tap of the category takes calls made for this tenant. @default it takes all */
  tapped?(category: CategoryDescriptor, tenantId?: string): boolean;
  /** Takes a call of a tapped category that is off here and now: it goes to the taps alone, and does not count. */
  tap?(
    category: CategoryDescriptor,
    message: string,
    attributes: Attributes | (() => Attributes) | undefined,
    tenantId?: string,
  ): AttributeFailure | undefined;
}

/** What a control plane gives to the gate when it attaches. */
export interface Controller {
  readonly sink: Sink;
  /** Most categories this control plane accepts. */
  readonly maxCategories: number;
  /** Count the calls of each tenant as well, in {@link Gate.tenantCalls}. @default false */
  readonly countsTenants?: boolean;
  /**
   * The tenant of the current work where no `runWithTenant` names one. Asked when the answer depends on it, never while
   * the category is off for everybody. It may throw: nobody is the tenant then. @default nobody
   */
  currentTenant?(): string | undefined;
  /**
   * A category appeared after attachment, or one got the default that nobody had given before; called synchronously,
   * before its handle is returned.
   */
  registered(category: CategoryDescriptor): void;
  /** An attribute function failed, or a hook of the control plane threw; called at most once per category. */
  failed(category: CategoryDescriptor, error: unknown): void;
}

/** A control plane's hold on the gate. The last one attached decides; when it detaches, the one before it does again. */
export interface Attachment {
  /** On or off for everybody without an override. */
  setBase(index: number, on: boolean): void;
  /** One tenant's override; `undefined` removes it. */
  setTenant(tenantId: string, index: number, on: boolean | undefined): void;
  /** Switches every category off, keeping what was set, or back. */
  suspend(suspended: boolean): void;
  detach(): void;
}

/** Calls made in tenants' contexts while they were counted. The memory for it is bounded. */
export interface TenantCalls {
  total(tenantId: string, index: number): number;
  /**
   * Remembers every count as it is now. Marks count up from 0, which is before the first call.
   * @param oldest earlier marks are not needed any more
   */
  mark(oldest: number): number;
  /** What {@link TenantCalls.total} was at a mark. */
  totalAt(tenantId: string, index: number, mark: number): number;
  /** Everything that was counted. */
  entries(): Iterable<readonly [tenantId: string, index: number, total: number]>;
}

export interface Gate {
  /**
   * The category of that name, registered on first use. A description given later fills an empty one.
   * @throws {RangeError} when the limit on categories is reached
   * @throws {TypeError} when the name is not a category name
   */
  category(name: string, options?: CategoryOptions): Category;
  /** Every category, in order of registration; `categories()[i].index === i`. */
  categories(): readonly CategoryDescriptor[];
  /** Runs `fn` so that everything in it, also asynchronously, is the tenant's. */
  runWithTenant<T>(tenantId: string, fn: () => T): T;
  /** Calls that were on since the process started: those that were emitted, and those that were dropped. */
  callsTotal(index: number): number;
  /** Calls of these that were dropped, for one reason or for all. */
  droppedTotal(index: number, reason?: DropReason): number;
  readonly tenantCalls: TenantCalls;
  attach(controller: Controller): Attachment;
}
