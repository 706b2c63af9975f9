import type { Clock } from '../../clock.ts';
import type { CategoryView, ControlPlane } from '../../control/types.ts';
import type { CallMeasurements, Measurements } from '../../metrics/types.ts';
import type { DiscoveredCategory, DiscoveryResponse } from '../../protocol/messages.ts';
import { timestamp } from '../../protocol/time.ts';
import { type Handler, required } from '../context.ts';
import { measured, totals, visibleCalls } from './calls.ts';
import { opening } from './opening.ts';

interface Sources {
  readonly plane: ControlPlane;
  readonly measurements: Measurements;
  readonly clock: Clock;
}

/** `GET /rdcp/v1/discovery`: every category with its state and what it emitted. */
export function discovery({ plane, measurements, clock }: Sources): Handler {
  return (ctx) => {
    const tenancy = required(ctx, 'tenancy');
    const calls = visibleCalls(tenancy, measurements);
    const categories = plane.view(tenancy.scope).map((view) => describe(view, plane.enabled, calls));
    const body: DiscoveryResponse = {
      ...opening(ctx, clock),
      categories,
      performance: {
        ...totals(categories, ({ metrics }) => metrics),
        categoryBreakdown: Object.fromEntries(categories.map(({ name, metrics }) => [name, metrics.callsTotal])),
      },
    };
    return { body };
  };
}

function describe(view: CategoryView, switchedOn: boolean, calls: CallMeasurements): DiscoveredCategory {
  return {
    name: view.name,
    description: view.description,
    enabled: switchedOn && view.enabled,
    temporary: view.temporary,
    metrics: measured(view.index, calls),
    otelrdcp_default: view.defaultEnabled,
    otelrdcp_origin: view.origin,
    ...(view.expiresAt !== undefined && { otelrdcp_expiresAt: timestamp(view.expiresAt) }),
  };
}
