import type { DiscoveredCategory } from '../../wire/messages.ts';
import type { StateEvent } from '../../wire/streams.ts';

export type Categories = ReadonlyMap<string, DiscoveredCategory>;

const SILENT = { callsTotal: 0, callsPerSecond: 0 };

/** The categories after an event of the service; the same map where the event is not about them. */
export function categoriesAfter(known: Categories | undefined, { event, data }: StateEvent): Categories | undefined {
  if (event === 'snapshot') return new Map(data.categories.map((category) => [category.name, category]));
  if (event !== 'category') return known;
  const before = known?.get(data.name);
  // The event has no measurements: those that are known stay.
  const { otelrdcp_budget: budget, metrics = SILENT } = before ?? {};
  const changed = { ...data, ...(data.enabled && budget !== undefined && { otelrdcp_budget: budget }), metrics };
  const after = new Map(known).set(data.name, changed);
  return before === undefined ? new Map([...after].sort(([a], [b]) => (a < b ? -1 : 1))) : after;
}
