import type { AuditEntry, TailEndReason } from './audit-messages.ts';
import type { CallCounts } from './call-counts.ts';
import type {
  BudgetState,
  CountedInstances,
  DiscoveredCategory,
  DiscoveryResponse,
  FleetMember,
  FleetSummary,
  MetricValue,
  RdcpAnswer,
} from './messages.ts';
import type { LineFilter, Target, When } from './target.ts';
import type { Timestamp } from './time.ts';

// Bodies and events of forecast, tail and events, which are additions of this implementation.

/** The body of a forecast request. */
export interface ForecastRequest {
  /** Names of the categories. */
  readonly categories: string | readonly string[];
  /** Seconds, or `<n>s` or `1m`: 1 to 60 seconds. @default 10 */
  readonly duration?: number | string;
  /** Counts calls of this work alone. @default all work */
  readonly target?: Target | undefined;
  /** Counts lines that pass it alone. @default all lines */
  readonly filter?: LineFilter | undefined;
  /** Counts lines of work that ends so alone, where it ends in this time. @default all lines */
  readonly when?: When | undefined;
}

/** The body of `POST /rdcp/v1/tail`. `GET` takes all but `target`, `filter` and `when` as query parameters. */
export interface TailBody {
  /** Names of the categories. */
  readonly categories: string | readonly string[];
  /** Seconds, or `<n>s|m|h|d`. @default '5m' */
  readonly duration?: number | string;
  /** Most lines a second; the rest is dropped, and counted. More than configured needs `admin`. @default the server's, 100 */
  readonly rate?: number;
  /** Ends the tail after this many lines. @default no limit */
  readonly lines?: number;
  /**
   * First the lines that each process has recorded in this time: seconds, or `<n>s|m`, at most the server's
   * `recorder.keepSeconds`. The categories must be recorded. @default none
   */
  readonly since?: number | string;
  /** Ends the tail after the recorded lines; needs `since`. @default false */
  readonly past?: boolean;
  /** Whether the lines also go to the service's own outputs, in every process. @default false */
  readonly log?: boolean;
  /** Lines of this work alone. @default all work */
  readonly target?: Target | undefined;
  /** Lines that pass it alone. @default all lines */
  readonly filter?: LineFilter | undefined;
  /** Lines of work that ends so alone, once it has ended. @default all lines, at once */
  readonly when?: When | undefined;
}

/** The body of `POST /rdcp/v1/failures`. */
export interface FailuresRequest {
  /** Names of the categories. @default all that are recorded */
  readonly categories?: string | readonly string[] | undefined;
  /** How far back: seconds, or `<n>s|m`, at most the server's `recorder.keepSeconds`. @default that */
  readonly since?: number | string | undefined;
  /** Only this work, in these processes. @default all work */
  readonly target?: Target | undefined;
  /** Work that ended so. @default `{ failed: true }` */
  readonly when?: When | undefined;
  /** The newest ones, 200 at most. @default 50 */
  readonly limit?: number | undefined;
}

/** A piece of work that failed or was slow. */
export interface FailedWork {
  /** On each of its lines, as `rdcp.work.id`. */
  readonly id: string;
  /** When it ended. */
  readonly timestamp: Timestamp;
  /** Name of the service that did it. */
  readonly service: string;
  /** Id of the process, as in the fleet. */
  readonly instance: string;
  /** What it was and how it ended: `POST /orders 500 after 12 ms, CreditError`. */
  readonly outcome: string;
  /** How long it took. */
  readonly milliseconds: number;
  /** Trace that it belongs to, 32 hex digits. */
  readonly traceId?: string;
  /** Id of its tenant, or of the first one for a credential with a list of tenants. */
  readonly tenant?: string;
  /** Attributes of the work, and of those parts of it that were asked for, with secrets masked. */
  readonly attributes: Readonly<Record<string, string>>;
  /** Its recorded lines, by category. */
  readonly lines: Readonly<Record<string, number>>;
}

/** Work that failed or was slow, from all processes. */
export interface FailuresResponse extends RdcpAnswer {
  /** How many processes were asked. */
  readonly instances: AskedInstances;
  /** The newest first. */
  readonly failures: readonly FailedWork[];
  /** Whether there are older ones. */
  readonly more: boolean;
  /** What the answer is about. */
  readonly recorder: {
    /** How far back all processes reach, such as `41s`. Absent while nothing is kept. */
    readonly reachesBack?: string;
    /** Names of the categories that are recorded, of those that were asked for: 100 at most. */
    readonly categories: readonly string[];
  };
}

/** Output of a category if it is on, or would be if it were. */
export interface CategoryForecast {
  /** Calls a second. */
  readonly callsPerSecond: MetricValue;
  /** Size of its lines, in bytes a second. */
  readonly bytesPerSecond: MetricValue;
  /** Absent if there was no call. */
  readonly bytesPerCall?: MetricValue;
  /** Its bytes a second, for a whole day. */
  readonly gigabytesPerDay: MetricValue;
  /** Calls a second that the configured budget of the category would drop. */
  readonly droppedByBudget: MetricValue;
  /** All calls in the measured time, and how many of them the figures are not about. Absent if a process of an older release measured. */
  readonly counts?: CallCounts;
}

/** How many processes were asked, and how many of them answered in time. */
export interface AskedInstances {
  /** Processes that were asked. */
  readonly asked: number;
  /** Processes that answered in time. */
  readonly answered: number;
}

/** Sums over the processes that answered. */
export interface ForecastResponse extends RdcpAnswer {
  /** Such as `10s`. */
  readonly duration: string;
  /** How many processes the sums are of. */
  readonly instances: AskedInstances;
  /** Ids of the processes that answered, 100 at most, if a number or a share of them was asked for. */
  readonly chosen?: readonly string[];
  /** Present where the tenant that an operator named may be misspelt; see `otelrdcp_tenantKnown` of a control. */
  readonly tenantKnown?: false;
  /** Keyed by category name. */
  readonly categories: Readonly<Record<string, CategoryForecast>>;
}

/** A JSON value. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

/** The first event of a tail. */
export interface TailOpen {
  /** The store's newest revision; without a shared store the process's own, as in `events`. */
  readonly revision: number;
  /** Processes asked for their lines. Each is named in an `instance` event once it has joined. */
  readonly instances: number;
  /** Names of the categories whose lines come. */
  readonly categories: readonly string[];
  /** When the server ends the tail. */
  readonly expiresAt: Timestamp;
  /** Present where the tenant that an operator named may be misspelt; see `otelrdcp_tenantKnown` of a control. */
  readonly tenantKnown?: false;
}

/** A debug call, from any process of the fleet. */
export interface TailLine {
  /** When the call was made. */
  readonly timestamp: Timestamp;
  /** Name of the category. */
  readonly category: string;
  /** The line's message. */
  readonly message: string;
  /** Its attributes, with secrets masked. */
  readonly attributes: { readonly [name: string]: JsonValue };
  /** Trace that the call belongs to, 32 hex digits. */
  readonly traceId?: string;
  /** Span that the call belongs to, 16 hex digits. */
  readonly spanId?: string;
  /** Id of the tenant in whose context the call was made. */
  readonly tenant?: string;
  /** Id of the process, as in the fleet. */
  readonly instance: string;
  /** The logger of another library that made the call, where the category has one alone. */
  readonly source?: string;
  /** Present on a line from before the tail began. */
  readonly recorded?: true;
}

/** All lines from before the tail began have come; live ones follow. Sent if `since` was given. */
export interface TailNow {
  /** Processes that were asked for them, and those that have answered. */
  readonly instances: AskedInstances;
  /** How far back all of them have their lines, such as `41s`, where that is less than `since`: a process is new, or its memory was full. */
  readonly reachesBack?: string;
}

/** Lines over the rate, or too many for the reader. */
export interface TailDropped {
  /** Since the last such event. */
  readonly count: number;
  /** When the first of them was dropped. */
  readonly since: Timestamp;
}

/** A process began or stopped to send its lines. */
export interface TailInstance {
  /** Id of the process, as in the fleet. */
  readonly id: string;
  /** Whether it began or stopped. */
  readonly state: 'joined' | 'left';
}

/** Calls that the tail has seen, also without a line: sent about once a second while they change, until the first line. */
export interface TailCounts {
  /** Processes that have counted. */
  readonly instances: number;
  /** Sums over them, by category; those without a call are absent. */
  readonly categories: Readonly<Record<string, CallCounts>>;
}

/** The last event of a tail that the server ended. */
export interface TailEnd {
  /** Why it ended. */
  readonly reason: TailEndReason;
  /** Lines sent, and lines dropped, in all. */
  readonly lines: number;
  /** Lines dropped, in all. */
  readonly dropped: number;
}

/** An event of a tail. The first is `start`; `end` is the last, unless the connection breaks. */
export type TailEvent =
  | { readonly event: 'start'; readonly data: TailOpen }
  | { readonly event: 'line'; readonly data: TailLine }
  | { readonly event: 'now'; readonly data: TailNow }
  | { readonly event: 'dropped'; readonly data: TailDropped }
  | { readonly event: 'instance'; readonly data: TailInstance }
  | { readonly event: 'counts'; readonly data: TailCounts }
  | { readonly event: 'end'; readonly data: TailEnd };

/** The state when a watcher begins, or returns after it missed something. */
export interface EventsSnapshot extends DiscoveryResponse {
  /** The store's newest revision; without a shared store a number of the process's own. */
  readonly revision: number;
  /** The fleet; present with a shared store. */
  readonly fleet?: EventsFleet;
}

/** The processes that share the store. A tenant sees only their number. */
export interface EventsFleet extends FleetSummary {
  /** The processes, sorted by host, then process id. */
  readonly members?: readonly Omit<FleetMember, 'lastSeenAt'>[];
}

/** Calls a second over the last seconds, of the categories that have any. */
export interface EventsRates {
  /** When they were measured. */
  readonly timestamp: Timestamp;
  /** Sum over all categories. */
  readonly callsPerSecond: number;
  /** Keyed by category name. */
  readonly categories: Readonly<Record<string, number>>;
  /** With a shared store: whose calls they are. */
  readonly instances?: CountedInstances;
  /** Categories that are on, and use their budget in the responding process or have dropped calls in any. */
  readonly budgets?: Readonly<Record<string, EventsBudget>>;
  /** In the first event of a stream that sees the calls of all tenants. */
  readonly history?: EventsHistory;
}

/**
 * The calls of the last 15 minutes, or since the responding process started; with a shared store, those of all processes, in a
 * fleet of more than 333 as far as it was read.
 */
export interface EventsHistory {
  /** When each step began, in seconds before the event, the oldest first. The last one ends with the event. */
  readonly secondsAgo: readonly number[];
  /** Calls a second in each step, of the categories that were called. */
  readonly categories: Readonly<Record<string, readonly number[]>>;
}

/** The present rest of a budget. */
export interface EventsBudget extends Pick<BudgetState, 'burst' | 'callsLeftNow' | 'callsLeft' | 'bytesLeft'> {
  /** Calls whose output was dropped so far. */
  readonly dropped?: number;
}

/** A category that has changed. */
export type EventsCategory = Omit<DiscoveredCategory, 'metrics'>;

/** An event of a watched server, with the revision of its state. */
export type StateEvent = { readonly id?: string } & (
  | { readonly event: 'snapshot'; readonly data: EventsSnapshot }
  | { readonly event: 'category'; readonly data: EventsCategory }
  | { readonly event: 'fleet'; readonly data: EventsFleet }
  | { readonly event: 'rates'; readonly data: EventsRates }
  | { readonly event: 'audit'; readonly data: AuditEntry }
);
