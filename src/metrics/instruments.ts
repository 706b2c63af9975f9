import {
  type BatchObservableResult,
  type Counter,
  type Histogram,
  type Meter,
  type Observable,
  ValueType,
} from '@opentelemetry/api';
import type { Schedule } from '../clock.ts';
import { diagnostics } from '../diagnostics.ts';
import { DROP_REASONS } from '../gate/drops.ts';
import type { Gate, TenantCalls } from '../gate/types.ts';
import {
  ATTR_ACTION,
  ATTR_AUTH_METHOD,
  ATTR_CATEGORY_NAME,
  ATTR_CONDITION_NAME,
  ATTR_OUTCOME,
  ATTR_REASON,
  ATTR_SCOPE,
  ATTR_TENANT_ID,
  METRIC_AUDIT_FAILURES,
  METRIC_AUTH_FAILURES,
  METRIC_CATEGORY_ENABLED,
  METRIC_CONDITIONS,
  METRIC_CONTROL_DURATION,
  METRIC_CONTROL_REQUESTS,
  METRIC_CONTROL_TEMPORARY,
  METRIC_CREDENTIAL_FAILURES,
  METRIC_DEBUG_CALL_RATE,
  METRIC_DEBUG_CALLS,
  METRIC_DEBUG_DROPPED,
  METRIC_NOTIFICATIONS,
} from '../semconv.ts';
import type { Telemetry } from '../telemetry.ts';
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
  /** Global state of every category. */
  readonly states: () => Iterable<{ readonly index: number; readonly enabled: boolean }>;
  /** Number of active temporary controls: global, and of all tenants together. */
  readonly temporaryControls: () => { readonly global: number; readonly tenants: number };
  /** Whether each named condition holds now. @default none */
  readonly conditions?: () => Iterable<readonly [name: string, holds: boolean]>;
  readonly schedule: Schedule;
}

export interface Instruments extends ControlInstruments {
  /** Recreates every instrument if the meter changed. */
  refresh(): void;
  /** Counts a credential file that is unreadable, or a token issuer that is unreachable. */
  credentialFailure(name: string): void;
  /** Counts a failed write of the audit trail. */
  auditFailure(): void;
  /** Counts a notification that was delivered, or dropped for a reason. */
  notification(outcome: 'delivered' | 'dropped', reason?: string): void;
  close(): void;
}

/**
 * Creates the OpenTelemetry instruments. Category metrics are observable and read the same counters as the endpoint's
 * responses, so that a scrape and a response agree.
 */
export function createInstruments(options: InstrumentsOptions): Instruments {
  const { telemetry, schedule } = options;
  const observation = createObservation(options);
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
      current = createInstrumentSet(meter, observation);
    });
  }

  refresh();
  telemetry.onChange?.(refresh);
  const stop = schedule(PROVIDER_CHECK_MS, refresh);
  return {
    refresh,
    controlRequest(action, outcome, seconds) {
      refresh();
      guarded(() => {
        const attributes = { [ATTR_ACTION]: action, [ATTR_OUTCOME]: outcome };
        current?.controlRequests?.add(1, attributes);
        current?.controlDuration?.record(seconds, attributes);
      });
    },
    authFailure(method, reason) {
      refresh();
      guarded(() => current?.authFailures?.add(1, { [ATTR_AUTH_METHOD]: method, [ATTR_REASON]: reason }));
    },
    credentialFailure(name) {
      refresh();
      guarded(() => current?.credentialFailures?.add(1, { [ATTR_CONDITION_NAME]: name }));
    },
    auditFailure() {
      refresh();
      guarded(() => current?.auditFailures?.add(1));
    },
    notification(outcome, reason) {
      refresh();
      const attributes = { [ATTR_OUTCOME]: outcome, ...(reason !== undefined && { [ATTR_REASON]: reason }) };
      guarded(() => current?.notifications?.add(1, attributes));
    },
    close() {
      closed = true;
      stop();
      guarded(() => current?.remove());
      current = undefined;
    },
  };
}

/** The instruments of one meter. */
interface InstrumentSet {
  readonly meter: Meter;
  readonly controlRequests?: Counter;
  readonly controlDuration?: Histogram;
  readonly authFailures?: Counter;
  readonly auditFailures?: Counter;
  readonly credentialFailures?: Counter;
  readonly notifications?: Counter;
  /** Unregisters the observable callback. */
  remove(): void;
}

interface Observables {
  readonly calls: Observable;
  readonly rate: Observable;
  readonly dropped: Observable;
  readonly enabled: Observable;
  readonly temporary: Observable;
  readonly conditions: Observable;
}

type Observe = (result: BatchObservableResult, observables: Observables) => void;

function createInstrumentSet(meter: Meter, observe: Observe): InstrumentSet {
  const valueType = ValueType.INT;
  const observables: Observables = {
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
    enabled: meter.createObservableGauge(METRIC_CATEGORY_ENABLED, {
      description: 'Whether the category is enabled globally, without tenant overrides: 0 or 1.',
      valueType,
    }),
    temporary: meter.createObservableUpDownCounter(METRIC_CONTROL_TEMPORARY, {
      description: 'Temporary controls in force.',
      unit: '{control}',
      valueType,
    }),
    conditions: meter.createObservableGauge(METRIC_CONDITIONS, {
      description: 'Whether a condition that occurred since the process started holds now: 0 or 1.',
      valueType,
    }),
  };
  const all = Object.values(observables);
  const callback = (result: BatchObservableResult) => guarded(() => observe(result, observables));
  meter.addBatchObservableCallback(callback, all);
  return {
    meter,
    controlRequests: meter.createCounter(METRIC_CONTROL_REQUESTS, {
      description: 'Control requests.',
      unit: '{request}',
      valueType,
    }),
    controlDuration: meter.createHistogram(METRIC_CONTROL_DURATION, {
      description: 'Time from the arrival of a control request to its outcome.',
      unit: 's',
      advice: { explicitBucketBoundaries: DURATION_BUCKETS },
    }),
    authFailures: meter.createCounter(METRIC_AUTH_FAILURES, {
      description: 'Requests whose credential was refused.',
      unit: '{request}',
      valueType,
    }),
    credentialFailures: meter.createCounter(METRIC_CREDENTIAL_FAILURES, {
      description: 'Failed reads of credential files and failed requests to token issuers.',
      unit: '{failure}',
      valueType,
    }),
    auditFailures: meter.createCounter(METRIC_AUDIT_FAILURES, {
      description: 'Failed writes of the audit trail.',
      unit: '{write}',
      valueType,
    }),
    notifications: meter.createCounter(METRIC_NOTIFICATIONS, {
      description: 'Notifications that were delivered or dropped.',
      unit: '{notification}',
      valueType,
    }),
    remove: () => meter.removeBatchObservableCallback(callback, all),
  };
}

const GLOBAL_SCOPE = { [ATTR_SCOPE]: 'global' };
const TENANT_SCOPES = { [ATTR_SCOPE]: 'tenant' };

/**
 * Observes every observable instrument. A scrape may hold thousands of categories, so attribute objects are reused, and a
 * category gets a rate with its first call and a drop count with its first drop. Temporary controls of all tenants are one
 * series, to limit cardinality.
 */
function createObservation(options: InstrumentsOptions): Observe {
  const { gate, measurements, tenantCalls, states, temporaryControls, conditions: held = () => [] } = options;
  const attributes: { readonly [ATTR_CATEGORY_NAME]: string }[] = [];
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

  return (result, { calls, rate, dropped, enabled, temporary, conditions }) => {
    for (const { index, name } of gate.categories()) attributes[index] ??= { [ATTR_CATEGORY_NAME]: name };
    const ofTenants = observeTenants(result, calls);
    for (const [index, category] of attributes.entries()) {
      const total = measurements.callsTotal(index);
      // Tenants have their own series: subtracting their calls keeps the sum over all series correct.
      result.observe(calls, total - (ofTenants[index] ?? 0), category);
      if (total > 0) result.observe(rate, measurements.callsPerSecond(index), category);
      if (gate.droppedTotal(index) > 0) observeDrops(result, dropped, index);
    }
    for (const state of states()) {
      const category = attributes[state.index];
      if (category !== undefined) result.observe(enabled, state.enabled ? 1 : 0, category);
    }
    const { global, tenants } = temporaryControls();
    tenantsSeen ||= tenants > 0;
    result.observe(temporary, global, GLOBAL_SCOPE);
    if (tenantsSeen) result.observe(temporary, tenants, TENANT_SCOPES);
    for (const [name, holds] of held()) result.observe(conditions, holds ? 1 : 0, { [ATTR_CONDITION_NAME]: name });
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
