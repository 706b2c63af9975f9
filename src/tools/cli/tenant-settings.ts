import type { Level } from '../../wire/constants.ts';
import type { DiscoveredActivation, DiscoveredCategory, TenantSettings } from '../../wire/messages.ts';
import { isQuiet, levelText, partText } from '../../wire/target-text.ts';
import { remaining } from './times.ts';

/**
 * A state of a category, and for whom or how long: `4m 59s`, `acme, 4m 59s`, `3 tenants`, `user.id=42, 4m 59s`, `4m 59s, from info
 * up`; `-` for everybody without an end.
 */
export interface ShownState {
  readonly enabled: boolean;
  /** Whether it takes lines of loggers away, instead of letting them out. @default false */
  readonly quiet?: boolean;
  readonly whom: string;
}

type Category = Pick<
  DiscoveredCategory,
  | 'enabled'
  | 'temporary'
  | 'otelrdcp_expiresAt'
  | 'otelrdcp_level'
  | 'otelrdcp_settings'
  | 'otelrdcp_activations'
  | 'otelrdcp_recorder'
>;

/**
 * The states of a category: one, two where it is on for everybody and off for some tenants, and one for its activations. A
 * category that is on for some tenants, or for some work, alone is on.
 */
export function statesOf(category: Category, now: number): readonly [ShownState, ...ShownState[]] {
  const [first, ...others] = settingsOf(category, now);
  const { otelrdcp_activations: activations = [] } = category;
  if (activations.length === 0) return [first, ...others];
  const active = { enabled: true, whom: activationsWith(activations, category.otelrdcp_recorder, now) };
  return first.enabled || category.temporary ? [first, ...others, active] : [active];
}

function settingsOf(category: Category, now: number): readonly [ShownState, ...ShownState[]] {
  const { enabled, otelrdcp_settings: settings, otelrdcp_level: level } = category;
  const everybody = { enabled, whom: withLevel(timeLeft(category, now), level), ...quietness(level) };
  if (settings === undefined) return [everybody];
  const on = settings.temporary + settings.permanent;
  const off = settings.tenants.length + settings.more - on;
  if (!enabled) {
    const [first, ...others] = settings.tenants.filter((tenant) => tenant.enabled);
    const alone = others.length === 0 ? quietness(first?.level) : {};
    return [on === 0 ? everybody : { enabled: true, whom: tenantsWith(true, on, settings, now), ...alone }];
  }
  return off === 0 ? [everybody] : [everybody, { enabled: false, whom: tenantsWith(false, off, settings, now) }];
}

/** Whether it is on for everybody, for some tenant or for some work. */
export function isOn(category: Category): boolean {
  return statesOf(category, 0)[0].enabled;
}

function tenantsWith(enabled: boolean, count: number, { tenants }: TenantSettings, now: number): string {
  const first = tenants.find((tenant) => tenant.enabled === enabled);
  if (count > 1 || first === undefined) return `${count} tenants`;
  const time = first.expiresAt === undefined ? 'permanent' : remaining(first.expiresAt, now);
  return `${first.id}, ${withLevel(time, first.level)}`;
}

function withLevel(whom: string, level: Level | undefined): string {
  if (level === undefined) return whom;
  return whom === '-' ? levelText(level) : `${whom}, ${levelText(level)}`;
}

function quietness(level: Level | undefined): Pick<ShownState, 'quiet'> {
  return level !== undefined && isQuiet(level) ? { quiet: true } : {};
}

function activationsWith(
  [first, ...others]: readonly DiscoveredActivation[],
  recorder: Category['otelrdcp_recorder'],
  now: number,
): string {
  if (first === undefined || others.length > 0) return `${others.length + 1} activations`;
  const part = first.when === undefined ? partText(first) : `recording ${partText(first)}`;
  // Answers for an isolated tenant, and those of `status`, do not say how many were written.
  const written = first.when === undefined || recorder === undefined ? '' : ` ${recorder.written} written,`;
  return `${part},${written} ${remaining(first.expiresAt, now)}`;
}

/** Other implementations of the protocol may send no expiry for a temporary control. */
function timeLeft({ temporary, otelrdcp_expiresAt }: Category, now: number): string {
  if (!temporary) return '-';
  return otelrdcp_expiresAt === undefined ? 'a while' : remaining(otelrdcp_expiresAt, now);
}
