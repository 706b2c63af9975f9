import type { Clock } from '../../clock.ts';
import type { ControlPlane } from '../../control/types.ts';
import type { Fleet } from '../../fleet/types.ts';
import type { Measurements } from '../../metrics/types.ts';
import type { StatusResponse } from '../../protocol/messages.ts';
import { type Answer, type Handler, required } from '../context.ts';
import { measured, totals, visibleCalls } from './calls.ts';
import { opening } from './opening.ts';

interface Sources {
  readonly plane: ControlPlane;
  readonly measurements: Measurements;
  readonly fleet?: Fleet | undefined;
  readonly clock: Clock;
}

/** `GET /rdcp/v1/status`: which categories are on. While the whole instrumentation is off, none is. */
export function status({ plane, measurements, fleet, clock }: Sources): Handler {
  return (ctx) => {
    const tenancy = required(ctx, 'tenancy');
    const calls = visibleCalls(tenancy, measurements);
    const views = plane.view(tenancy.scope);
    const body: StatusResponse = {
      ...opening(ctx, clock),
      enabled: plane.enabled,
      categories: Object.fromEntries(views.map(({ name, enabled }) => [name, plane.enabled && enabled])),
      performance: totals(views.map(({ index }) => measured(index, calls))),
    };
    return fleet === undefined ? { body } : withFleet(body, fleet);
  };
}

async function withFleet(body: StatusResponse, fleet: Fleet): Promise<Answer> {
  const summary = await fleet.summary();
  return { body: summary === undefined ? body : { ...body, otelrdcp_fleet: summary } };
}
