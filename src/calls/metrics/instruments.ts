import {
  type Attributes,
  type BatchObservableResult,
  type Counter,
  type Histogram,
  type Meter,
  type Observable,
  ValueType,
} from '@opentelemetry/api';
import { DROP_REASONS } from '../../gate/drops.ts';
import type { Gate, TenantCalls } from '../../gate/types.ts';
import { diagnostics } from '../../otel/diagnostics.ts';
import {
  ATTR_ACTION,
  ATTR_AUTH_METHOD,
  ATTR_CATEGORY_NAME,
  ATTR_CONDITION_NAME,
  ATTR_OUTCOME,
  ATTR_REASON,
  ATTR_SCOPE,
  ATTR_SETTING,
  ATTR_STORE_VALUE,
  ATTR_TENANT_ID,
  METRIC_ACTIVATION_COUNT,
  METRIC_AUDIT_FAILURES,
  METRIC_AUTH_FAILURES,
  METRIC_CATEGORY_ENABLED,
  METRIC_CATEGORY_SETTINGS,
  METRIC_CONDITION_ACTIVE,
  METRIC_CONTROL_DURATION,
  METRIC_CONTROL_REQUESTS,
  METRIC_CONTROL_TEMPORARY,
  METRIC_CREDENTIALS_RELOAD_FAILURES,
  METRIC_DEBUG_CALL_RATE,
  METRIC_DEBUG_CALLS,
  METRIC_DEBUG_DROPPED,
  METRIC_NOTIFICATIONS,
  METRIC_RECORDER_CALLS,
  METRIC_RECORDER_MEMORY_USED,
  METRIC_RECORDER_REACH,
  METRIC_STORE_MALFORMED,
  METRIC_TICKET_REFUSED,
} from '../../otel/semconv.ts';
import type { Telemetry } from '../../otel/telemetry.ts';
import type { Schedule } from '../../wire/time/clock.ts';
import type { ControlInstruments, Measurements } from './types.ts';

/** Interval for detecting a new global meter provider, in milliseconds. */
const PROVIDER_CHECK_MS = 1000;

/** Seconds: 1 ms to 10 s. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface InstrumentsOptions {
  readonly telemetry: Pick<Telemetry, 'meter' | 'onChange'>;
  readonly gate: Pick<Gate, 'categories' | 'droppedTotal'>;
  readonly measurements: Pick<Measurements, 'callsTotal' | 'callsPerSecond'>;
  /** Calls by tenant, for one series per tenant and one for calls without a tenant. @default one series per category */
  readonly tenantCalls?: Pick<TenantCalls, 'entries'>;
  readonly schedule: Schedule;
}

/** State that is observed with each scrape. */
export interface ObservedState {
  /** Global state of every category, and how many tenants have it on by a setting of their own. */
  readonly states: () => Iterable<{
    readonly index?: number | undefined;
    readonly enabled: boolean;
    readonly tenants?: { readonly temporary: number; readonly permanent: number };
    /** Activations in force. */
    readonly activations?: { readonly length: number };
  }>;
  /** Number of active temporary controls: global, and of all tenants together. */
  readonly temporaryControls: () => { readonly global: number; readonly tenants: number };
  /** What became of the recorded calls of a category. @default none is recorded */
  readonly recorded?: (index: number) => object | undefined;
  /** How much is kept of work that has ended. @default nothing is kept */
  readonly kept?: () => { readonly bytes: number; readonly seconds: number } | undefined;
  /** Whether each named condition holds now. @default none */
  readonly conditions?: () => Iterable<readonly [name: string, holds: boolean]>;
}

export interface Instruments extends ControlInstruments {
  /** Replaces the observed state. There is none before. */
  observe(state: ObservedState): void;
  /** Recreates every instrument if the meter changed. */
  refresh(): void;
  /** Counts a ticket that was refused. */
  ticketRefused(reason: string): void;
  /** Counts a credential file that is unreadable, or a token issuer that is unreachable. */
  credentialFailure(name: string): void;
  /** Counts a failed write of the audit trail. */
  auditFailure(): void;
  /** Counts a value of the store, or a message of another process, that was dropped. @param kind what it was meant to be */
  malformed(kind: string): void;
  /** Counts a notification that was delivered, or dropped for a reason. */
  notification(outcome: 'success' | 'failed', reason?: string): void;
  close(): void;
}

/** Counters of the endpoint. */
const COUNTERS = {
  controlRequests: [METRIC_CONTROL_REQUESTS, '{request}', 'Control requests.'],
  authFailures: [METRIC_AUTH_FAILURES, '{request}', 'Requests whose credential was refused.'],
  ticketsRefused: [METRIC_TICKET_REFUSED, '{request}', 'Times that a ticket was refused.'],
  credentialFailures: [
    METRIC_CREDENTIALS_RELOAD_FAILURES,
    '{failure}',
    'Failed reads of credential files and failed requests to token issuers.',
  ],
  auditFailures: [METRIC_AUDIT_FAILURES, '{write}', 'Failed writes of the audit trail.'],
  malformed: [METRIC_STORE_MALFORMED, '{value}', 'Malformed values of the store that were dropped.'],
  notifications: [METRIC_NOTIFICATIONS, '{notification}', 'Notifications that were delivered or dropped.'],
} as const;
type CounterName = keyof typeof COUNTERS;

/** The instruments of one meter. */
interface InstrumentSet {
  readonly meter: Meter;
  readonly counters?: Readonly<Record<string, Counter>>;
  readonly controlDuration?: Histogram;
  /** Unregisters the observable callback. */
  remove(): void;
}

/**
 * Creates the OpenTelemetry instruments. Category metrics are observable and read the same counters as the endpoint's
 * responses, so that a scrape and a response agree.
 */
export function createInstruments(options: InstrumentsOptions): Instruments {
  const { telemetry, schedule } = options;
  let state: ObservedState | undefined;
  const observe = createObservation(options, () => state);
  let current: InstrumentSet | undefined;
  let closed = false;

  function refresh(): void {
    if (closed) return;
    guarded(() => {
      const { meter } = telemetry;
      if (meter === current?.meter) return;
      const previous = current;
      guarded(() => previous?.remove());
      // Set before the instruments are created: a meter that throws is used once, not every second.
      current = { meter, remove() {} };
      current = createInstrumentSet(meter, observe);
    });
  }

  function count(name: CounterName, attributes: Attributes = {}): void {
    refresh();
    guarded(() => current?.counters?.[name]?.add(1, attributes));
  }

  refresh();
  telemetry.onChange?.(refresh);
  const stop = schedule(PROVIDER_CHECK_MS, refresh);
  return {
    refresh,
    observe(observed) {
      state = observed;
    },
    controlRequest(action, outcome, seconds) {
      const attributes = { [ATTR_ACTION]: action, [ATTR_OUTCOME]: outcome };
      count('controlRequests', attributes);
      guarded(() => current?.controlDuration?.record(seconds, attributes));
    },
    authFailure: (method, reason) => count('authFailures', { [ATTR_AUTH_METHOD]: method, [ATTR_REASON]: reason }),
    ticketRefused: (reason) => count('ticketsRefused', { [ATTR_REASON]: reason }),
    credentialFailure: (name) => count('credentialFailures', { [ATTR_CONDITION_NAME]: name }),
    auditFailure: () => count('auditFailures'),
    malformed: (kind) => count('malformed', { [ATTR_STORE_VALUE]: kind }),
    notification: (outcome, reason) =>
      count('notifications', { [ATTR_OUTCOME]: outcome, ...(reason !== undefined && { [ATTR_REASON]: reason }) }),
    close() {
      closed = true;
      stop();
      guarded(() => current?.remove());
      current = undefined;
    },
  };
}

function createInstrumentSet(meter: Meter, observe: Observe): InstrumentSet {
  const observables = createObservables(meter);
  const all = Object.values(observables);
  const callback = (result: BatchObservableResult) => guarded(() => observe(result, observables));
  meter.addBatchObservableCallback(callback, all);
  const counters = Object.entries(COUNTERS).map(([key, [name, unit, description]]) => {
    return [key, meter.createCounter(name, { description, unit, valueType: ValueType.INT })] as const;
  });
  return {
    meter,
    counters: Object.fromEntries(counters),
    controlDuration: meter.createHistogram(METRIC_CONTROL_DURATION, {
      description: 'Time from the arrival of a control request to its outcome.',
      unit: 's',
      advice: { explicitBucketBoundaries: DURATION_BUCKETS },
    }),
    remove: () => meter.removeBatchObservableCallback(callback, all),
  };
}

type Observables = ReturnType<typeof createObservables>;
type Observe = (result: BatchObservableResult, observables: Observables) => void;

function createObservables(meter: Meter) {
  const valueType = ValueType.INT;
  return {
    calls: meter.createObservableCounter(METRIC_DEBUG_CALLS, {
      description: 'Debug calls of enabled categories since the process started.',
      unit: '{call}',
      valueType,
    }),
    rate: meter.createObservableGauge(METRIC_DEBUG_CALL_RATE, {
      description: 'Debug calls of enabled categories per second, over the rate window.',
      unit: '{call}/s',
    }),
    dropped: meter.createObservableCounter(METRIC_DEBUG_DROPPED, {
      description: 'Debug calls of enabled categories whose output was dropped.',
      unit: '{call}',
      valueType,
    }),
    recorded: meter.createObservableCounter(METRIC_RECORDER_CALLS, {
      description: 'Recorded debug calls that were written because their work failed or was slow, forgotten or cut.',
      unit: '{call}',
      valueType,
    }),
    kept: meter.createObservableGauge(METRIC_RECORDER_MEMORY_USED, {
      description: 'Size of the recorded work that has ended, and is kept.',
      unit: 'By',
      valueType,
    }),
    reach: meter.createObservableGauge(METRIC_RECORDER_REACH, {
      description: 'How far back the recorder reaches without a gap.',
      unit: 's',
    }),
    enabled: meter.createObservableGauge(METRIC_CATEGORY_ENABLED, {
      description: 'Whether the category is enabled globally, without tenant overrides: 0 or 1.',
      unit: '1',
      valueType,
    }),
    settings: meter.createObservableGauge(METRIC_CATEGORY_SETTINGS, {
      description: 'Tenants that have the category on by a setting of their own.',
      unit: '{tenant}',
      valueType,
    }),
    activations: meter.createObservableGauge(METRIC_ACTIVATION_COUNT, {
      description: 'Activations of the category in force: it is on for some work, or some lines, alone, or recorded.',
      unit: '{activation}',
      valueType,
    }),
    temporary: meter.createObservableUpDownCounter(METRIC_CONTROL_TEMPORARY, {
      description: 'Temporary controls in force.',
      unit: '{control}',
      valueType,
    }),
    conditions: meter.createObservableGauge(METRIC_CONDITION_ACTIVE, {
      description: 'Whether a condition that occurred since the process started holds now: 0 or 1.',
      unit: '1',
      valueType,
    }),
  };
}

const GLOBAL_SCOPE = { [ATTR_SCOPE]: 'global' };
const TENANT_SCOPES = { [ATTR_SCOPE]: 'tenant' };

/**
 * Observes every observable instrument. A scrape may hold thousands of categories, so attribute objects are reused, and a
 * category gets a rate with its first call, a drop count with its first drop and settings with its first tenant, as activations with the first one. Temporary controls of all tenants are one
 * series, to limit cardinality.
 */
function createObservation(options: InstrumentsOptions, stateNow: () => ObservedState | undefined): Observe {
  const { gate, measurements, tenantCalls } = options;
  const attributes: { readonly [ATTR_CATEGORY_NAME]: string }[] = [];
  const switchedForTenants = new Set<number>();
  const activated = new Set<number>();
  let tenantsSeen = false;

  /** Observes the calls of each tenant. Returns their sum by category. */
  function observeTenants(result: BatchObservableResult, calls: Observable): readonly number[] {
    const observed: number[] = [];
    for (const [tenantId, index, total] of tenantCalls?.entries() ?? []) {
      result.observe(calls, total, { ...attributes[index], [ATTR_TENANT_ID]: tenantId });
      observed[index] = (observed[index] ?? 0) + total;
    }
    return observed;
  }

  function observeDrops(result: BatchObservableResult, dropped: Observable, index: number): void {
    for (const reason of DROP_REASONS) {
      const total = gate.droppedTotal(index, reason);
      if (total > 0) result.observe(dropped, total, { ...attributes[index], [ATTR_REASON]: reason });
    }
  }

  return (result, instruments) => {
    const { calls, rate, dropped, recorded, enabled, settings, activations, temporary, conditions } = instruments;
    for (const { index, name } of gate.categories()) attributes[index] ??= { [ATTR_CATEGORY_NAME]: name };
    const ofTenants = observeTenants(result, calls);
    for (const [index, category] of attributes.entries()) {
      const total = measurements.callsTotal(index);
      // Tenants have their own series: subtracting their calls keeps the sum over all series correct.
      result.observe(calls, total - (ofTenants[index] ?? 0), category);
      if (total > 0) result.observe(rate, measurements.callsPerSecond(index), category);
      if (gate.droppedTotal(index) > 0) observeDrops(result, dropped, index);
    }
    const observed = stateNow();
    if (observed === undefined) return;
    for (const state of observed.states()) {
      if (state.index === undefined) continue;
      const category = attributes[state.index];
      if (category === undefined) continue;
      result.observe(enabled, state.enabled ? 1 : 0, category);
      for (const [outcome, count] of Object.entries(observed.recorded?.(state.index) ?? {}))
        result.observe(recorded, count, { ...category, [ATTR_OUTCOME]: outcome });
      const active = state.activations?.length ?? 0;
      if (active > 0) activated.add(state.index);
      if (activated.has(state.index)) result.observe(activations, active, category);
      const { temporary = 0, permanent = 0 } = state.tenants ?? {};
      if (temporary + permanent > 0) switchedForTenants.add(state.index);
      if (!switchedForTenants.has(state.index)) continue;
      result.observe(settings, temporary, { ...category, [ATTR_SETTING]: 'temporary' });
      result.observe(settings, permanent, { ...category, [ATTR_SETTING]: 'permanent' });
    }
    const past = observed.kept?.();
    if (past !== undefined) {
      result.observe(instruments.kept, past.bytes);
      result.observe(instruments.reach, past.seconds);
    }
    const { global, tenants } = observed.temporaryControls();
    tenantsSeen ||= tenants > 0;
    result.observe(temporary, global, GLOBAL_SCOPE);
    if (tenantsSeen) result.observe(temporary, tenants, TENANT_SCOPES);
    for (const [name, holds] of observed.conditions?.() ?? []) {
      result.observe(conditions, holds ? 1 : 0, { [ATTR_CONDITION_NAME]: name });
    }
  };
}

/** Reports errors of the application's SDK, so that they do not fail a request or a timer. */
function guarded(work: () => void): void {
  try {
    work();
  } catch (error) {
    diagnostics.error('rdcp: a metric instrument failed', error);
  }
}
