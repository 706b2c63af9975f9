import { hasScope, isOfTenants, mayTail } from '../../access/principal.ts';
import type { CategoryCalls, Counted, SharedMeasurements } from '../../calls/metrics/types.ts';
import { shownActivation } from '../../control/activation.ts';
import type { CategoryActivation, CategoryView } from '../../control/types.ts';
import { shownMaker } from '../../control/views.ts';
import type { Level } from '../../wire/constants.ts';
import { isCounted } from '../../wire/counted-calls.ts';
import { type LineCounts, NO_LINES } from '../../wire/member-calls.ts';
import type {
  BudgetState,
  DiscoveredActivation,
  DiscoveredCategory,
  DiscoveryResponse,
  FleetCalls,
  MetricsResponse,
  MetricUnit,
  MetricValue,
  ProcessMetricName,
  StatusResponse,
  TenantSettings,
  WithReach,
} from '../../wire/messages.ts';
import type { Clock } from '../../wire/time/clock.ts';
import { formatDuration, timestamp } from '../../wire/time.ts';
import type { RouteParts } from '../parts.ts';
import { type Context, type Handler, opening, required, type Tenancy, timestampNow } from '../steps.ts';

export interface Budgets {
  /** `undefined` when nothing is limited. */
  stateOf(category: { readonly index: number; readonly name: string }, tenantId?: string): BudgetState | undefined;
  /** Configured calls per second of a category; `undefined` when unlimited. */
  configuredRate(name: string): number | undefined;
  /** What became of its lines in all processes of the fleet. */
  linesOf(category: Counted): LineCounts;
  unevaluated?(index: number): number;
}

/** `GET /rdcp/v1/discovery`: every category with its state and what it emitted. */
export function discovery(parts: RouteParts): Handler {
  return async (ctx) => {
    await parts.fleet?.refresh();
    return { body: discovered(ctx, parts) };
  };
}

export function discovered(ctx: Context, parts: RouteParts): DiscoveryResponse {
  const { plane, measurements, clock } = parts;
  const tenancy = required(ctx, 'tenancy');
  const calls = visibleCalls(tenancy, measurements);
  const categories = plane
    .view(tenancy.scope)
    .map(
      (view): DiscoveredCategory => ({ ...described(ctx, view), metrics: calls(view), ...figures(ctx, parts, view) }),
    );
  return {
    ...opening(ctx, clock),
    categories,
    performance: {
      ...totals(categories, ({ metrics }) => metrics),
      categoryBreakdown: Object.fromEntries(categories.map(({ name, metrics }) => [name, metrics.callsTotal])),
    },
    ...fleetCalls(plane.view(tenancy.scope), tenancy, measurements),
    ...reachOf(ctx, parts),
  };
}

/** How far back the recorder of this process reaches, for those who may tail. */
function reachOf(ctx: Context, { config, reach, clock }: RouteParts): WithReach {
  const isShown = mayTail(required(ctx, 'principal'), config.tail) && required(ctx, 'tenancy').callsOf === undefined;
  if (!isShown || config.recorder.keepSeconds === 0) return {};
  const { since, works, bytes } = reach();
  const seconds = since === undefined ? 0 : Math.floor((clock.now() - since) / 1000);
  return { otelrdcp_recorder: { ...(seconds > 0 && { reachesBack: formatDuration(seconds) }), works, bytes } };
}

/** What the responding process knows of a category beside its state: its limits, what became of its lines, its loggers. */
export function figures(
  ctx: Context,
  { budgets, sourceOf }: RouteParts,
  view: CategoryView,
): Partial<DiscoveredCategory> {
  const tenancy = required(ctx, 'tenancy');
  const { budget, dropped } = limitsOf(view, tenancy, budgets);
  // Figures of all tenants, as in `limitsOf`.
  const index = tenancy.callsOf === undefined ? view.index : undefined;
  const { dropped: _, ...recorded } = tenancy.callsOf === undefined ? budgets.linesOf(view) : NO_LINES;
  const unevaluated = index === undefined ? 0 : (budgets.unevaluated?.(index) ?? 0);
  const callsPerSecond = budgets.configuredRate(view.name);
  const source = sourceOf(view.name) ?? view.source;
  return {
    ...(budget === undefined
      ? { otelrdcp_configuredBudget: callsPerSecond !== undefined && { callsPerSecond } }
      : { otelrdcp_budget: budget }),
    ...(dropped > 0 && { otelrdcp_dropped: dropped }),
    ...(Object.values(recorded).some((count) => count > 0) && { otelrdcp_recorder: recorded }),
    ...(unevaluated > 0 && { otelrdcp_unevaluated: unevaluated }),
    ...(source !== undefined && { otelrdcp_source: source }),
  };
}

/** Whose calls an answer counts, and which are of this process. */
function fleetCalls(
  views: readonly CategoryView[],
  { callsOf }: Tenancy,
  measurements: SharedMeasurements,
): FleetCalls {
  const instances = measurements.instances();
  if (instances === undefined) return {};
  const own = views.map((view) => ({ name: view.name, calls: measurements.ownCallsOf(view, callsOf) }));
  const called = own.filter(({ calls }) => calls.callsTotal > 0);
  return {
    otelrdcp_instances: instances,
    otelrdcp_process: {
      ...totals(called, ({ calls }) => calls),
      categories: Object.fromEntries(called.map(({ name, calls }) => [name, calls])),
    },
  };
}

/**
 * The budget of an enabled category, `false` for none, and what it dropped, even after a control has ended. Isolated
 * tenants see none of the process's figures, which would reveal other tenants' load.
 */
export function limitsOf(view: CategoryView, tenancy: Tenancy, budgets: Budgets) {
  return {
    budget: view.enabled ? budgetOf(view, tenancy, budgets) : undefined,
    dropped: tenancy.callsOf === undefined ? budgets.linesOf(view).dropped : 0,
  };
}

function budgetOf(
  { index, name }: CategoryView,
  { scope, callsOf }: Tenancy,
  budgets: Budgets,
): BudgetState | false | undefined {
  if (index === undefined) return undefined;
  const { callsLeftNow, ...state } = budgets.stateOf({ index, name }, scope.tenantId) ?? {};
  const shown = callsOf === undefined && callsLeftNow !== undefined ? { ...state, callsLeftNow } : state;
  return Object.keys(shown).length > 0 && shown;
}

/** The state of a category. The tenants that have it on are shown to those who may list tenants. */
export function described(
  ctx: Context,
  { by, expiresAt, level, tenants, activations, ...view }: CategoryView,
): Omit<DiscoveredCategory, 'metrics'> {
  const active = activationsOf(ctx, activations);
  return {
    name: view.name,
    description: view.description,
    enabled: view.enabled,
    temporary: view.temporary,
    otelrdcp_default: view.defaultEnabled,
    otelrdcp_origin: view.origin,
    ...(expiresAt !== undefined && { otelrdcp_expiresAt: timestamp(expiresAt) }),
    ...(level !== undefined && { otelrdcp_level: level }),
    // Who made what is for all tenants is not for those of some.
    ...(by !== undefined && required(ctx, 'tenancy').tenants === undefined && { otelrdcp_control: shownMaker(by) }),
    ...(tenants !== undefined && seesTenants(ctx) && { otelrdcp_settings: tenants }),
    ...(isRecorded(view, active) && { otelrdcp_recorded: true }),
    ...(active !== undefined && { otelrdcp_activations: active }),
    ...(view.instances !== undefined && { otelrdcp_instances: view.instances }),
  };
}

/** Whether it is recorded for anything that the caller may see. */
function isRecorded(
  { recorded }: Pick<CategoryView, 'recorded'>,
  shown: readonly DiscoveredActivation[] = [],
): boolean {
  return recorded === true || shown.some(({ record }) => record);
}

/** The activations that the caller may see: of a tenant, those of others stay hidden, and who made what is for everybody. */
function activationsOf(
  ctx: Context,
  activations: readonly CategoryActivation[] | undefined,
): readonly DiscoveredActivation[] | undefined {
  if (activations === undefined) return undefined;
  const principal = required(ctx, 'principal');
  const { scope } = required(ctx, 'tenancy');
  const all = seesTenants(ctx);
  const visible = activations.filter(({ tenantId }) => tenantId === undefined || tenantId === scope.tenantId || all);
  if (visible.length === 0) return undefined;
  return visible.map(({ activation, tenantId }) => {
    const { by } = activation;
    const isMaker = by !== undefined && by.userId === principal.userId && by.clientId === principal.clientId;
    return shownActivation(activation, tenantId, {
      values: all || isMaker,
      maker: tenantId !== undefined || scope.tenantId === undefined || isMaker,
    });
  });
}

export function seesTenants(ctx: Context): boolean {
  const principal = required(ctx, 'principal');
  return hasScope(principal, 'admin') && !isOfTenants(principal);
}

/** `GET /rdcp/v1/status`: which categories are enabled; none while the whole instrumentation is off. */
export function status(parts: RouteParts): Handler {
  const { plane, fleet, measurements, clock } = parts;
  return async (ctx) => {
    const tenancy = required(ctx, 'tenancy');
    const summary = fleet && (await fleet.summary());
    const views = plane.view(tenancy.scope);
    const seesSettings = seesTenants(ctx);
    const categories: Record<string, boolean> = {};
    const levels: Record<string, Level> = {};
    const recorded: Record<string, true> = {};
    const active: Record<string, readonly DiscoveredActivation[]> = {};
    const settings: Record<string, TenantSettings> = {};
    for (const view of views) {
      const { name, enabled, level, activations, tenants } = view;
      const shown = activationsOf(ctx, activations);
      categories[name] = enabled;
      if (level !== undefined) levels[name] = level;
      if (isRecorded(view, shown)) recorded[name] = true;
      if (shown !== undefined) active[name] = shown;
      if (tenants !== undefined && seesSettings) settings[name] = tenants;
    }
    const body: StatusResponse = {
      ...opening(ctx, clock),
      enabled: plane.enabled,
      performance: totals(views, visibleCalls(tenancy, measurements)),
      ...fleetCalls(views, tenancy, measurements),
      categories,
      ...unlessEmpty('otelrdcp_levels', levels),
      ...(summary !== undefined && { otelrdcp_fleet: summary }),
      ...unlessEmpty('otelrdcp_recorded', recorded),
      ...unlessEmpty('otelrdcp_activations', active),
      ...unlessEmpty('otelrdcp_settings', settings),
      ...reachOf(ctx, parts),
    };
    return { body };
  };
}

function unlessEmpty<T extends object>(name: keyof StatusResponse, members: T) {
  return Object.keys(members).length === 0 ? undefined : { [name]: members };
}

const UNITS: Readonly<Record<ProcessMetricName, MetricUnit>> = {
  callsTotal: 'count',
  callsPerSecond: 'per_second',
  cpuUsage: 'percent',
  memoryUsage: 'bytes',
  heapUsed: 'bytes',
  eventLoopDelay: 'milliseconds',
  temporaryControls: 'count',
};

export function metricAt(clock: Pick<Clock, 'now'>): (value: number, unit: MetricUnit) => MetricValue {
  const timestamp = timestampNow(clock);
  return (value, unit) => ({ value, unit, measured: true, timestamp });
}

/** `GET /rdcp/v1/metrics`: measurements, with their time. */
export function metrics({ plane, fleet, measurements, clock }: RouteParts): Handler {
  return async (ctx) => {
    await fleet?.refresh();
    const tenancy = required(ctx, 'tenancy');
    const { scope } = tenancy;
    const metric = metricAt(clock);
    const callsOf = visibleCalls(tenancy, measurements);
    const views = plane.view(scope);
    const categories = views.map((view) => ({
      name: view.name,
      counted: isCounted(described(ctx, view)),
      calls: callsOf(view),
    }));
    const { totalCalls, callsPerSecond } = totals(categories, ({ calls }) => calls);
    const values: Partial<Record<ProcessMetricName, number>> = {
      callsTotal: totalCalls,
      callsPerSecond,
      // The load of a shared process would reveal the activity of other tenants.
      ...(tenancy.callsOf === undefined && measurements.process()),
      temporaryControls: plane.temporaryControls(scope),
    };
    const body: MetricsResponse = {
      ...opening(ctx, clock),
      metrics: Object.fromEntries(
        Object.entries(values)
          .filter(([, value]) => Number.isFinite(value))
          .map(([name, value]) => [name, metric(value, UNITS[name as ProcessMetricName])]),
      ),
      categories: Object.fromEntries(
        categories.map(({ name, counted, calls: { callsTotal, callsPerSecond } }) => [
          name,
          {
            ...((counted || callsTotal > 0) && { callsTotal: metric(callsTotal, UNITS.callsTotal) }),
            ...(counted && { callsPerSecond: metric(callsPerSecond, UNITS.callsPerSecond) }),
          },
        ]),
      ),
      ...fleetCalls(views, tenancy, measurements),
    };
    return { body };
  };
}

/** The calls that a request may see: the tenant's own under isolation, otherwise all. */
function visibleCalls({ callsOf }: Tenancy, measurements: SharedMeasurements): (category: Counted) => CategoryCalls {
  return (category) => measurements.callsOf(category, callsOf);
}

/** The totals are computed from the parts shown, so that they always agree. */
function totals<T>(
  shown: readonly T[],
  metricsOf: (one: T) => CategoryCalls,
): { totalCalls: number; callsPerSecond: number } {
  const sums = { totalCalls: 0, callsPerSecond: 0 };
  for (const one of shown) {
    const { callsTotal, callsPerSecond } = metricsOf(one);
    sums.totalCalls += callsTotal;
    sums.callsPerSecond += callsPerSecond;
  }
  return sums;
}
