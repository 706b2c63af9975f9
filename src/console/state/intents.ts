import type { DiscoveredCategory } from '../../protocol/messages.ts';
import type { Intent } from './change.ts';

type Offered = readonly [intent: Intent, text: string];

const END: Offered = ['end', 'End now…'];

/**
 * Whether what is shown is set for everybody.
 * @param tenant whose settings are shown. It does not see who made a control for everybody, so one without a maker is no own one.
 */
export function isForEverybody(
  { otelrdcp_origin: origin, otelrdcp_control: control }: DiscoveredCategory,
  tenant: string | undefined,
): boolean {
  return tenant === undefined || origin === 'global' || origin === 'default' || (origin === 'temporary' && !control);
}

/**
 * What can be done with a category as it is: first what is done most. A tenant's own control can be ended, one for everybody
 * only overruled.
 */
export function intentsOf(category: DiscoveredCategory, tenant: string | undefined): readonly Offered[] {
  const { enabled, temporary } = category;
  const ends = temporary && (tenant === undefined || !isForEverybody(category, tenant));
  if (!enabled) return ends ? [['enable', 'Enable…'], END] : [['enable', 'Enable…']];
  return ends ? [['prolong', 'Prolong…'], END] : [['disable', 'Disable…']];
}
