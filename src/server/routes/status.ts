import type { Clock } from '../../clock.ts';
import type { CategoryView, ControlPlane } from '../../control/types.ts';
import type { Fleet } from '../../fleet/types.ts';
import type { Measurements } from '../../metrics/types.ts';
import type { StatusResponse } from '../../protocol/messages.ts';
import { type Handler, required } from '../steps.ts';
import { measured, totals, visibleCalls } from './calls.ts';
import { openingMembers } from './opening.ts';

interface Sources {
  readonly plane: ControlPlane;
  readonly measurements: Measurements;
  readonly fleet?: Fleet | undefined;
  readonly clock: Clock;
}

/**
 * `GET /rdcp/v1/status`: which categories are enabled; none while the whole instrumentation is off. It is read far more
 * often than anything changes, so most of the answer is cached as JSON between changes.
 */
export function status({ plane, measurements, fleet, clock }: Sources): Handler {
  const written = new WeakMap<readonly CategoryView[], string>();

  function statesOf(views: readonly CategoryView[]): string {
    const known = written.get(views);
    if (known !== undefined) return known;
    const states: StatusResponse['categories'] = Object.fromEntries(views.map(({ name, enabled }) => [name, enabled]));
    const json = JSON.stringify(states);
    written.set(views, json);
    return json;
  }

  return (ctx) => {
    const tenancy = required(ctx, 'tenancy');
    const calls = visibleCalls(tenancy, measurements);
    const views = plane.view(tenancy.scope);
    const { totalCalls, callsPerSecond } = totals(views, ({ index }) => measured(index, calls));
    const members =
      `${openingMembers(ctx, clock)},"enabled":${plane.enabled}` +
      `,"performance":{"totalCalls":${totalCalls},"callsPerSecond":${callsPerSecond}},"categories":${statesOf(views)}`;
    if (fleet === undefined) return { body: `{${members}}` };
    return fleet.summary().then((summary) => ({
      body: summary === undefined ? `{${members}}` : `{${members},"otelrdcp_fleet":${JSON.stringify(summary)}}`,
    }));
  };
}
