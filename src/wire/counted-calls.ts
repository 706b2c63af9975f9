import type { CountedInstances, DiscoveredCategory } from './messages.ts';

type Category = Pick<DiscoveredCategory, 'enabled' | 'otelrdcp_settings' | 'otelrdcp_activations'>;

/** Whether the calls of a category are counted: it is on for everybody, a tenant or some work, and not only recorded. */
export function isCounted({
  enabled,
  otelrdcp_settings: settings,
  otelrdcp_activations: activations = [],
}: Category): boolean {
  const isOnForTenants = settings !== undefined && settings.permanent + settings.temporary > 0;
  return (
    enabled || isOnForTenants || activations.some(({ when, record }) => when === undefined && record === undefined)
  );
}

/** Whose calls figures are, where that is not the whole fleet: `of 2 of 3 processes, 1 not heard of`. */
export function partOfFleet(instances: CountedInstances | undefined): string | undefined {
  const { of, counted, silent } = instances ?? { of: 0, counted: 0 };
  return counted < of ? `of ${counted} of ${of} processes${silent ? `, ${silent} not heard of` : ''}` : undefined;
}
