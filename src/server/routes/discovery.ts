import type { Clock } from '../../clock.ts';
import type { CategoryView, ControlPlane } from '../../control/types.ts';
import type { Measurements } from '../../metrics/types.ts';
import type { DiscoveredCategory, DiscoveryResponse } from '../../protocol/messages.ts';
import { timestamp } from '../../protocol/time.ts';
import { type Handler, required } from '../context.ts';
import { opening } from './opening.ts';

interface Sources {
  readonly plane: ControlPlane;
  readonly measurements: Measurements;
  readonly clock: Clock;
}

/** `GET /rdcp/v1/discovery`: every category with its state and what it emitted. */
export function discovery({ plane, measurements, clock }: Sources): Handler {
  return (ctx) => {
    const categories = plane
      .view(required(ctx, 'tenancy').scope)
      .map((view) => describe(view, plane.enabled, measurements));
    const body: DiscoveryResponse = {
      ...opening(ctx, clock),
      categories,
      performance: {
        ...totals(categories.map(({ metrics }) => metrics)),
        categoryBreakdown: Object.fromEntries(categories.map(({ name, metrics }) => [name, metrics.callsTotal])),
      },
    };
    return { body };
  };
}

function describe(view: CategoryView, switchedOn: boolean, measurements: Measurements): DiscoveredCategory {
  return {
    name: view.name,
    description: view.description,
    enabled: switchedOn && view.enabled,
    temporary: view.temporary,
    metrics: measured(view.index, measurements),
    otelrdcp_default: view.defaultEnabled,
    otelrdcp_origin: view.origin,
    ...(view.expiresAt !== undefined && { otelrdcp_expiresAt: timestamp(view.expiresAt) }),
  };
}

export interface CategoryMetrics {
  readonly callsTotal: number;
  readonly callsPerSecond: number;
}

export function measured(index: number, measurements: Measurements): CategoryMetrics {
  return { callsTotal: measurements.callsTotal(index), callsPerSecond: measurements.callsPerSecond(index) };
}

/** The totals are the sums of what is shown, so that the two can never disagree. */
export function totals(metrics: readonly CategoryMetrics[]): { totalCalls: number; callsPerSecond: number } {
  return {
    totalCalls: metrics.reduce((sum, { callsTotal }) => sum + callsTotal, 0),
    callsPerSecond: metrics.reduce((sum, { callsPerSecond }) => sum + callsPerSecond, 0),
  };
}
