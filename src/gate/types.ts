// The gate's interface for applications and control planes. This folder imports nothing.

import type { DropCode, DropReason } from './drops.ts';
import type { WorkContext } from './work.ts';

/** Any value that can be logged. docs/attributes.md shows how each kind is formatted. */
export type AttributeValue = unknown;

/** Attributes of a debug call: the fields of a plain object, of a class instance, or of an error. Not a promise or a function. */
export type Attributes =
  | { readonly [name: string]: AttributeValue }
  | (object & { readonly then?: string | number | boolean | null; readonly [Symbol.hasInstance]?: never });

/** Attribute value of an OpenTelemetry span. */
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
  /** Sets an attribute of the span. */
  setAttribute(name: string, value: SpanAttributeValue): unknown;
  /** Adds an event, at the present time. */
  addEvent(name: string, attributes?: SpanAttributes): unknown;
}

/** Attributes as passed to a call: a function has not been called yet. */
export type CallAttributes = Attributes | (() => Attributes) | undefined;

/** A named group of debug points that is switched as a unit. The same name returns the same object, process-wide. */
export interface Category {
  /** Its name, such as `DATABASE`. */
  readonly name: string;
  /** One line that describes it; empty without one. */
  readonly description: string;
  /** Whether a debug call would be emitted now, for the current tenant. */
  readonly enabled: boolean;
  /**
   * Emits a debug record when the category is on; otherwise costs one load and one bit test. Pass expensive attributes as
   * a function, which runs only when the call is emitted. Never throws.
   */
  debug(message: string, attributes?: Attributes | (() => Attributes)): void;
  /**
   * Runs `fn` in an OpenTelemetry span when the category is on, otherwise without a span or argument. Returns or throws
   * what `fn` does; if `fn` returns a promise, the span ends when it settles.
   */
  span<T>(name: string, fn: (span?: Span) => T): T;
  /**
   * Marks the current piece of work (the HTTP request, or what `runWork` runs) as failed although it may end well otherwise,
   * so that what was recorded of it is written: `rdcp enable DATABASE --on-error`. Never throws.
   * @param error what went wrong; its type is shown to operators
   */
  fail(error: unknown): void;
}

/** A line that the caller writes itself, as the taps of its category get it. */
export interface Described {
  readonly message: string;
  readonly attributes?: CallAttributes;
}

/** A category with what is needed to control the debug output of another library. */
export interface GatedCategory extends Category {
  /** The interest bit: whether any call could be wanted now. One load and one bit test. */
  readonly wanted: boolean;
  readonly interest: Uint32Array;
  readonly word: number;
  readonly mask: number;
  /**
   * Decides, counts and limits a line that the caller writes itself. Taps get the described call, also where the category
   * is off. Never throws. Ask only while {@link wanted}.
   * @param admitted whether the line is written where the category is not {@link decided}; such lines have no budget.
   * @default the state of the category
   * @param level of the line (`levels.ts`). @default debug
   * @returns whether the caller may write the line
   */
  passes(line: OwnLine, admitted?: boolean, level?: number): boolean;
  /**
   * The least urgent level (`levels.ts`) that the control in force here and now lets through; 0 if it has none. Lines of
   * lower levels are held back, also where the logger's own level admits them. Ask only while {@link wanted}.
   */
  readonly level: number;
  /** The least urgent {@link level} of all tenants; 0 if no control has one. */
  readonly leastLevel: number;
  /** Whether any tap wants calls of the category, so that {@link passes} may describe a line. */
  readonly tapped: boolean;
  /** The same of the recorder. */
  readonly recorded: boolean;
  /** Whether calls are recorded and, whoever makes them, neither written nor tapped, so that {@link record} is all that they need. */
  readonly onlyRecorded: boolean;
  /** Records a line that is not written. Never throws. Call only while {@link onlyRecorded}. */
  record(line: OwnLine, level: number): void;
  /** Whether a control, a setting or the configuration decides here and now, and not the default in the code. */
  readonly decided: boolean;
  /**
   * Whether an output or a tap wants a line here and now.
   * @param admitted whether the line is written where the category is not {@link decided}
   * @param level of the line. @default debug
   */
  allows(admitted: boolean, level?: number): boolean;
  /** {@link decided} where no tenant has a setting of its own. */
  readonly settled: boolean;
  /**
   * Calls back when {@link wanted}, {@link settled}, {@link onlyRecorded} or {@link leastLevel} changes, and at once if the first is
   * true. Returns a function that unsubscribes.
   */
  onWanted(listener: (wanted: boolean) => void): () => void;
  /** Changes the state that the category has until it is switched. */
  setDefault(enabled: boolean): void;
  /**
   * Describes the category until a registration does.
   * @param instead an earlier suggestion that no longer holds
   */
  suggestDescription(description: string, instead?: string): void;
}

/** Options of a category in the code. The configuration takes precedence. */
export interface CategoryOptions {
  /** One line that operators see in the list of categories. @default '' */
  readonly description?: string;
  /** Initial state, once a control plane is attached. @default false */
  readonly enabled?: boolean;
}

/** A registered category as the control plane sees it. */
export interface CategoryDescriptor {
  /** Position in the bitset. Never changes. */
  readonly index: number;
  readonly name: string;
  readonly description: string;
  readonly defaultEnabled: boolean;
}

/** The error of an attribute function that threw or was asynchronous. */
export interface AttributeFailure {
  readonly error: unknown;
}

/** A line that was recorded: an entry of `recordedLines()`. */
export interface RecordedLine {
  /** RFC 3339, UTC, milliseconds. */
  readonly timestamp: string;
  /** Name of the category. */
  readonly category: string;
  /** What the call said. */
  readonly message: string;
  /** With secrets masked. */
  readonly attributes: Readonly<Record<string, unknown>>;
  /** The tenant in whose context the call was made. */
  readonly tenant?: string;
  /** The active trace, 32 hex digits. */
  readonly traceId?: string;
  /** The active span, 16 hex digits. */
  readonly spanId?: string;
}

/** A line that its logger writes itself. */
export interface OwnLine {
  /** Its length, for the budget. */
  readonly bytes: number;
  /** What the logger was called with. @default nothing */
  readonly given?: readonly unknown[] | undefined;
  /**
   * The line for taps and the recorder.
   * @param given as above; the recorder may have copied it
   * @returns `undefined` for a line that the logger's own filters leave out
   */
  readonly describe: (given: readonly unknown[]) => Described | undefined;
  /** Whether what {@link describe} returns depends on {@link given} alone, so that the recorder can ask later. @default false */
  readonly isTimeless?: boolean | undefined;
  /** Whether the same line is recorded already, in the category of the logger that passed it on. @default false */
  readonly isRecorded?: boolean | undefined;
}

/** A call of a category that is off in this context. */
export interface TappedCall {
  readonly category: CategoryDescriptor;
  readonly message: string;
  readonly given: CallAttributes;
  readonly tenantId: string | undefined;
  readonly level: number;
  /** Whether its logger writes the line. @default false */
  readonly isOwn?: boolean;
  /** Whether it is counted as a call already. @default false */
  readonly isCounted?: boolean;
}

/** A call of a recorded category. */
export interface RecordedCall extends Omit<TappedCall, 'isOwn' | 'isCounted'> {
  /** Whether it was written as well. */
  readonly isWritten: boolean;
  /** In place of message and attributes. */
  readonly own: OwnLine | undefined;
}

/** What became of a {@link TappedCall}. */
export interface TapOutcome {
  /** Whether the call belongs to an activation, so that it counts. */
  readonly activated: boolean;
  /** Why it was dropped although it belongs to one. */
  readonly dropped?: DropCode | undefined;
  /** The error of its attributes, without which it was emitted. */
  readonly failure?: AttributeFailure | undefined;
}

/** Whether the budget of a category refuses its calls now, and how many it did. */
export interface Refusal {
  /** Why; `undefined` while it may admit the next call. */
  readonly refused: DropCode | undefined;
  /** Incremented by the gate for each call that it drops itself. */
  dropped: number;
}

/** Receives emitted calls. May throw: the gate catches the error and reports it through {@link Controller.failed}. */
export interface Sink {
  /**
   * @param tenantId tenant of the call's context
   * @returns why the call was dropped, or the error of its attributes when it was emitted without them
   */
  emit(
    category: CategoryDescriptor,
    message: string,
    attributes: CallAttributes,
    tenantId?: string,
  ): AttributeFailure | DropCode | undefined;
  /**
   * For each category, whether the sink would drop a call now. The gate drops such calls itself, which is several times cheaper.
   * Not consulted for a category that is tapped or that a tenant overrides.
   */
  readonly refusals?: readonly (Refusal | undefined)[];
  span<T>(category: CategoryDescriptor, name: string, fn: (span?: Span) => T, tenantId?: string): T;
  /** Whether a span may be made. @returns why not; the function runs bare then. @default always */
  admitSpan?(category: CategoryDescriptor, tenantId?: string): DropCode | undefined;
  /**
   * Calls back with every category that is tapped, at once and whenever that changes. A tap takes calls beside the outputs,
   * without switching anything; an activation switches a part of the category on. @returns a function that ends it
   */
  watchTaps?(listener: (index: number, tapped: boolean) => void): () => void;
  /** Whether a tap or an activation of the category accepts a call of this tenant, here and now. @default false */
  tapped?(category: CategoryDescriptor, tenantId?: string): boolean;
  /** Calls back with every category whose calls are recorded, at once and whenever that changes. @returns a function that ends it */
  watchRecorded?(listener: (index: number, recorded: boolean) => void): () => void;
  /** Whether `.enabled` is true because a call that is made here and now would be recorded. @default false */
  records?(category: CategoryDescriptor, tenantId?: string): boolean;
  /** Records a call, if it is wanted here and now. @returns the error of its attributes */
  record?(call: RecordedCall): AttributeFailure | undefined;
  /** What was recorded so far of the current piece of work, the oldest first. */
  recordedLines?(): readonly RecordedLine[];
  /** Whether an activation has the category on for this tenant, here and now. @default false */
  activated?(category: CategoryDescriptor, tenantId?: string): boolean;
  /**
   * Admits a line that the caller writes itself, and passes its description to the taps.
   * @returns why the line must not be written @default every line may be written, and taps get none
   */
  pass?(category: CategoryDescriptor, own: OwnLine, tenantId?: string): AttributeFailure | DropCode | undefined;
  /**
   * Sends a call of a tapped category to its activations and taps. It counts if it belongs to an activation.
   * @returns `undefined` when none took it
   */
  tap?(call: TappedCall): TapOutcome | undefined;
}

/** The control plane's side of an attachment. */
export interface Controller {
  readonly sink: Sink;
  /** Maximum number of categories. */
  readonly maxCategories: number;
  /** Whether to count calls per tenant as well, in {@link Gate.tenantCalls}. @default false */
  readonly countsTenants?: boolean;
  /**
   * Returns the tenant of the current request outside `runWithTenant`. Called only when the result depends on it, never
   * while the category is off for every tenant. If it throws, no tenant applies. @default no tenant
   */
  currentTenant?(): string | undefined;
  /**
   * Called when a category is registered after attachment, or when a later registration sets its default. Called
   * synchronously, before the handle is returned.
   */
  registered(category: CategoryDescriptor): void;
  /** Called when an attribute function or a hook of the control plane fails, at most once per category. */
  failed(category: CategoryDescriptor, error: unknown): void;
}

/** A control plane's attachment to the gate. The last one attached is active; when it detaches, the previous one is. */
export interface Attachment {
  /**
   * Switches a category where no override applies.
   * @param settled whether a control, a setting or the configuration says so, and not the default. @default true
   * @param level the least urgent one that comes out while it is on. @default every line
   */
  setBase(index: number, on: boolean, settled?: boolean, level?: number): void;
  /** Sets a tenant's override; `undefined` removes it. @param level as of {@link setBase} */
  setTenant(tenantId: string, index: number, on: boolean | undefined, level?: number): void;
  /** Switches every category off and keeps the state, or restores it. */
  suspend(suspended: boolean): void;
  detach(): void;
}

/** Counts of calls by tenant and category. Memory is bounded. */
export interface TenantCalls {
  total(tenantId: string, index: number): number;
  /**
   * Snapshots every count and returns the mark. Marks start at 0, before the first call.
   * @param oldest earlier marks are dropped
   */
  mark(oldest: number): number;
  /** Returns {@link TenantCalls.total} as of a mark. */
  totalAt(tenantId: string, index: number, mark: number): number;
  /** All counts. */
  entries(): Iterable<readonly [tenantId: string, index: number, total: number]>;
}

export interface Gate {
  /**
   * Returns the category of that name, and registers it on first use. A later description fills an empty one.
   * @throws {RangeError} when the limit on categories is reached
   * @throws {TypeError} when the name is not a category name
   */
  category(name: string, options?: CategoryOptions): GatedCategory;
  /** Every category, in order of registration; `categories()[i].index === i`. */
  categories(): readonly CategoryDescriptor[];
  /** Runs `fn` in the tenant's async context. Returns the result of `fn`. */
  runWithTenant<T>(tenantId: string, fn: () => T): T;
  /** The current piece of work, and its attributes. */
  readonly work: WorkContext;
  /** Whether `runWithTenant` was called with this id, or with too many ids to remember them all. */
  hasNamed(tenantId: string): boolean;
  /** The ids that `runWithTenant` was called with, as many as are remembered. */
  readonly namedTenants: ReadonlySet<string>;
  /** What was recorded so far of the current piece of work, the oldest first. Never throws. */
  recordedLines?(): readonly RecordedLine[];
  /** Calls made while on since the process started, emitted or dropped. */
  callsTotal(index: number): number;
  /** The dropped ones of these calls, for one reason or for all. */
  droppedTotal(index: number, reason?: DropReason): number;
  readonly tenantCalls: TenantCalls;
  /**
   * Calls back when an enabled control plane decides from now on, and when none does any more; at once if one does. In a
   * worker thread, the main thread's counts as well.
   */
  onControlled(listener: (controlled: boolean) => void): void;
  attach(controller: Controller): Attachment;
}
