import type { DiscoveredActivation, DiscoveredCategory, DiscoveredControl } from '../../../wire/messages.ts';
import { nameSome } from '../../../wire/printable.ts';
import { partText } from '../../../wire/target-text.ts';
import { isForEverybody } from './intents.ts';

/** A tenant that has a category on by its own setting, or the work and lines that an activation is for. */
export interface Part {
  readonly whom: string;
  /** Absent for an activation of everybody. */
  readonly tenant?: string | undefined;
  /** Id of the activation. */
  readonly activation?: string;
  /** Absent for a permanent setting. */
  readonly expiresAt?: string | undefined;
  readonly control?: DiscoveredControl | undefined;
}

type Reach = Pick<DiscoveredCategory, 'enabled' | 'otelrdcp_settings' | 'otelrdcp_activations'>;

/** The parts that a category is on for, beside what is set for everybody: as far as they are listed, the soonest end first. */
export function partsOf({
  otelrdcp_settings: settings,
  otelrdcp_activations: activations = [],
}: Reach): readonly Part[] {
  const tenants = settings?.tenants.filter(({ enabled }) => enabled) ?? [];
  const parts: Part[] = [
    ...tenants.map(({ id, expiresAt, control }) => ({ whom: id, tenant: id, expiresAt, control })),
    ...activations.map(partOf),
  ];
  const endOf = ({ expiresAt }: Part) => (expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt));
  return parts.sort((a, b) => (endOf(a) < endOf(b) ? -1 : 1));
}

function partOf(activation: DiscoveredActivation): Part {
  const { id, tenant, expiresAt, reason, by } = activation;
  return {
    whom: activationText(activation),
    tenant,
    activation: id,
    expiresAt,
    control: by && { ...by, ...(reason !== undefined && { reason }) },
  };
}

/** Such as `user.id=42`. Values that this reader may not see are said to be hidden. */
export function activationText({
  tenant,
  target,
  filter,
  when,
}: Pick<DiscoveredActivation, 'tenant' | 'target' | 'filter' | 'when'>) {
  const match = Object.entries(target?.match ?? {}).map(([name, value]) => [
    name,
    value.startsWith('hmac:') ? '(hidden)' : value,
  ]);
  return partText({
    ...(tenant !== undefined && { tenant }),
    ...(target && { target: { ...target, match: Object.fromEntries(match) } }),
    ...(filter && { filter }),
    ...(when && { when }),
  });
}

/** The number of parts, those included that are not listed. */
export function countOfParts({ otelrdcp_settings: settings, otelrdcp_activations: activations = [] }: Reach): number {
  return activations.length + (settings === undefined ? 0 : settings.temporary + settings.permanent);
}

/** Off for everybody, and on for some tenants or some work. */
export function isPartlyOn(category: Reach): boolean {
  return !category.enabled && countOfParts(category) > 0;
}

/**
 * For whom a category is on, in words; empty for none.
 * @param tenant whose settings are shown
 */
export function whomOf(category: DiscoveredCategory, tenant: string | undefined): string {
  const { enabled, otelrdcp_settings: settings, otelrdcp_activations: activations = [] } = category;
  if (!enabled) {
    const names = partsOf(category).map(({ whom }) => whom);
    return names.length === 0 ? '' : `only ${nameSome(names, { most: 2, all: countOfParts(category) })}`;
  }
  const off = settings?.tenants.filter((each) => !each.enabled).map(({ id }) => id) ?? [];
  const all = isForEverybody(category, tenant) ? 'everybody' : (tenant ?? '');
  const but = off.length === 0 ? '' : ` but ${nameSome(off, { most: 2 })}`;
  const active = activations.length === 0 ? '' : `; ${nameSome(activations.map(activationText), { most: 2 })}`;
  return `${all}${but}${active}`;
}

/** When a category's present state ends first. */
export function endOf(category: DiscoveredCategory): string | undefined {
  return isPartlyOn(category) ? partsOf(category)[0]?.expiresAt : category.otelrdcp_expiresAt;
}
