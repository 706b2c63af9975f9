import type { Clock } from '../../clock.ts';
import type { CategoryView, ControlPlane } from '../../control/types.ts';
import type { Measurements } from '../../metrics/types.ts';
import type { DiscoveredCategory } from '../../protocol/messages.ts';
import { timestamp } from '../../protocol/time.ts';
import { type Handler, required } from '../context.ts';
import { measured, visibleCalls } from './calls.ts';
import { openingMembers } from './opening.ts';

interface Sources {
  readonly plane: ControlPlane;
  readonly measurements: Measurements;
  readonly clock: Clock;
}

interface WrittenCategory {
  readonly index: number;
  readonly name: string;
  /** The category as JSON up to its last member, the measurements. */
  readonly json: string;
}

/**
 * `GET /rdcp/v1/discovery`: every category with its state and what it emitted. With thousands of categories nearly all of
 * the answer stays the same until something is switched, so that part is written once.
 */
export function discovery({ plane, measurements, clock }: Sources): Handler {
  const written = new WeakMap<readonly CategoryView[], readonly WrittenCategory[]>();

  function categoriesOf(views: readonly CategoryView[]): readonly WrittenCategory[] {
    const known = written.get(views);
    if (known !== undefined) return known;
    const categories = views.map(write);
    written.set(views, categories);
    return categories;
  }

  return (ctx) => {
    const tenancy = required(ctx, 'tenancy');
    const calls = visibleCalls(tenancy, measurements);
    // The totals are the sums of what is shown, so that they can never disagree.
    let totalCalls = 0;
    let totalPerSecond = 0;
    let categories = '';
    let breakdown = '';
    for (const { index, name, json } of categoriesOf(plane.view(tenancy.scope))) {
      const { callsTotal, callsPerSecond } = measured(index, calls);
      const separator = categories === '' ? '' : ',';
      categories += `${separator}${json}{"callsTotal":${callsTotal},"callsPerSecond":${callsPerSecond}}}`;
      breakdown += `${separator}"${name}":${callsTotal}`;
      totalCalls += callsTotal;
      totalPerSecond += callsPerSecond;
    }
    const totals = `"totalCalls":${totalCalls},"callsPerSecond":${totalPerSecond}`;
    const performance = `{${totals},"categoryBreakdown":{${breakdown}}}`;
    return { body: `{${openingMembers(ctx, clock)},"categories":[${categories}],"performance":${performance}}` };
  };
}

function write(view: CategoryView): WrittenCategory {
  const described: Omit<DiscoveredCategory, 'metrics'> = {
    name: view.name,
    description: view.description,
    enabled: view.enabled,
    temporary: view.temporary,
    otelrdcp_default: view.defaultEnabled,
    otelrdcp_origin: view.origin,
    ...(view.expiresAt !== undefined && { otelrdcp_expiresAt: timestamp(view.expiresAt) }),
  };
  return { index: view.index, name: view.name, json: `${JSON.stringify(described).slice(0, -1)},"metrics":` };
}
