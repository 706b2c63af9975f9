import { isQuiet, type Level } from '../constants.ts';
import type {
  DiscoveredActivation,
  DiscoveredCategory,
  DiscoveredControl,
  StatusResponse,
  TenantSettings,
} from '../messages.ts';
import { nameSome } from '../printable.ts';
import { partText } from './activation.ts';
import { levelText, type Setting } from './level.ts';
import { remaining } from './time.ts';

// The state of a category in words: for the tables and lines of the command, the page, and agents.

/** `quiet` takes lines of loggers away, instead of letting them out; of what is `recorded`, none is written. */
export const STATES = ['on', 'quiet', 'recorded', 'off'] as const;
export type State = (typeof STATES)[number];

/** For whom or how long: `4m 59s`, `acme, 4m 59s`, `3 tenants`, `user.id=42, 4m 59s`; `-` for everybody without an end. */
export interface CategoryState {
  readonly state: State;
  readonly whom: string;
}

/** A tenant that has a category on by its own setting, or the work and lines that an activation is for, or records. */
export interface Part {
  readonly whom: string;
  /** Absent for an activation of everybody. */
  readonly tenant?: string | undefined;
  readonly activation?: string;
  /** Absent for a permanent setting, and for what is recorded without an end. */
  readonly expiresAt?: string | undefined;
  /** Nothing is written for it. */
  readonly recorded?: true;
  readonly control?: DiscoveredControl | undefined;
}

type Reach = Pick<DiscoveredCategory, 'enabled' | 'otelrdcp_settings' | 'otelrdcp_activations' | 'otelrdcp_recorded'>;
type Category = Reach &
  Pick<DiscoveredCategory, 'temporary' | 'otelrdcp_expiresAt' | 'otelrdcp_level' | 'otelrdcp_recorder'>;

/** The categories of a status, as far as it describes them. */
export function categoriesOf(answer: StatusResponse): readonly (Category & { readonly name: string })[] {
  const { otelrdcp_settings: settings, otelrdcp_activations: activations, otelrdcp_levels: levels } = answer;
  return Object.entries(answer.categories).map(([name, enabled]) => ({
    name,
    enabled,
    temporary: false,
    ...(levels?.[name] && { otelrdcp_level: levels[name] }),
    ...(settings?.[name] && { otelrdcp_settings: settings[name] }),
    ...(activations?.[name] && { otelrdcp_activations: activations[name] }),
    ...(answer.otelrdcp_recorded?.[name] && { otelrdcp_recorded: true }),
  }));
}

/** The state that a setting gives, in a word. */
export function stateOf({ enabled, level }: Setting): State {
  if (!enabled) return 'off';
  return level !== undefined && isQuiet(level) ? 'quiet' : 'on';
}

/** One; two where it is on for everybody and off for some tenants; one for its activations; one where it is recorded alone. */
export function statesOf(category: Category, now: number): readonly [CategoryState, ...CategoryState[]] {
  const [first, ...others] = settingsOf(category, now);
  const { active, recordings } = activationsOf(category);
  const parts: CategoryState[] = [];
  if (active.length > 0) parts.push({ state: 'on', whom: activationsText(active, category.otelrdcp_recorder, now) });
  if (isRecorded(category)) parts.push({ state: 'recorded', whom: recordingsText(recordings, now) });
  const [part, ...more] = parts;
  return first.state !== 'off' || category.temporary || part === undefined
    ? [first, ...others, ...parts]
    : [part, ...more];
}

function activationsOf({ otelrdcp_activations: all = [] }: Reach) {
  const { active = [], recordings = [] } = Object.groupBy(all, ({ record }) => (record ? 'recordings' : 'active'));
  return { active, recordings };
}

/** Whether its calls are kept in memory, and not written for everybody. */
export function isRecorded({ enabled, otelrdcp_recorded: recorded }: Reach): boolean {
  return !enabled && recorded === true;
}

function settingsOf(category: Category, now: number): readonly [CategoryState, ...CategoryState[]] {
  const { enabled, temporary, otelrdcp_settings: settings, otelrdcp_level: level, otelrdcp_expiresAt: end } = category;
  // Other implementations of the protocol may send no expiry for a temporary control.
  const left = end === undefined ? 'a while' : remaining(end, now);
  const everybody = { state: stateOf({ enabled, level }), whom: withLevel(temporary ? left : '-', level) };
  if (settings === undefined) return [everybody];
  const on = settings.temporary + settings.permanent;
  const off = settings.tenants.length + settings.more - on;
  if (!enabled) {
    const tenants = settings.tenants.filter((tenant) => tenant.enabled);
    const state = tenants.length === 1 ? stateOf({ enabled: true, level: tenants[0]?.level }) : 'on';
    return [on === 0 ? everybody : { state, whom: tenantsText(settings, { enabled: true, count: on, now }) }];
  }
  return off === 0
    ? [everybody]
    : [everybody, { state: 'off', whom: tenantsText(settings, { enabled: false, count: off, now }) }];
}

function tenantsText(
  { tenants }: TenantSettings,
  { enabled, count, now }: { readonly enabled: boolean; readonly count: number; readonly now: number },
): string {
  const first = tenants.find((tenant) => tenant.enabled === enabled);
  if (count > 1 || first === undefined) return `${count} tenants`;
  const time = first.expiresAt === undefined ? 'permanent' : remaining(first.expiresAt, now);
  return `${first.id}, ${withLevel(time, first.level)}`;
}

function withLevel(whom: string, level: Level | undefined): string {
  if (level === undefined) return whom;
  return whom === '-' ? levelText(level) : `${whom}, ${levelText(level)}`;
}

function activationsText(
  [first, ...others]: readonly DiscoveredActivation[],
  recorder: Category['otelrdcp_recorder'],
  now: number,
): string {
  if (first === undefined || others.length > 0) return `${others.length + 1} activations`;
  const part = first.when === undefined ? partText(first) : `recording ${partText(first)}`;
  // Answers for an isolated tenant, and those of `status`, do not say how many were written.
  const written = first.when === undefined || recorder === undefined ? '' : `${recorder.written} written`;
  return [part, written, timeTo(first, now)].filter((text) => text !== '').join(', ');
}

/** `-` for all work without an end, as by the options of the service. */
function recordingsText([first, ...others]: readonly DiscoveredActivation[], now: number): string {
  if (first === undefined) return '-';
  if (others.length > 0) return `${others.length + 1} activations`;
  return [partText(first), timeTo(first, now)].filter((text) => text !== '').join(', ');
}

function timeTo({ expiresAt }: Pick<DiscoveredActivation, 'expiresAt'>, now: number): string {
  return expiresAt === undefined ? 'permanent' : remaining(expiresAt, now);
}

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
  const { id, tenant, expiresAt, reason, by, record } = activation;
  return {
    whom: record ? ['recorded', partText(activation)].filter(Boolean).join(', ') : partText(activation) || 'everybody',
    tenant,
    activation: id,
    expiresAt,
    ...(record && { recorded: record }),
    control: by && { ...by, ...(reason !== undefined && { reason }) },
  };
}

/** The number of parts that it is on for, those included that are not listed. */
export function countOfParts(category: Reach): number {
  const { temporary, permanent } = category.otelrdcp_settings ?? { temporary: 0, permanent: 0 };
  return activationsOf(category).active.length + temporary + permanent;
}

/** Off for everybody, and on for some tenants or some work. */
export function isPartlyOn(category: Reach): boolean {
  return !category.enabled && countOfParts(category) > 0;
}

/** Whether it is on, or quiet, for everybody, for some tenant or for some work. */
export function isOn(category: Reach): boolean {
  return category.enabled || isPartlyOn(category);
}

/** The names of those for whom a category is on; none if it is off. @param all name for what is set for everybody: `everybody`, or the tenant that is shown */
export function whomOf(category: Reach, all: string): string {
  const { otelrdcp_settings: settings } = category;
  const activations = activationsOf(category).active.map(partText);
  if (!isOnForAll(category)) {
    const names = namesOfParts(category);
    return names === '' ? '' : `only ${names}`;
  }
  const off = settings?.tenants.filter((each) => !each.enabled).map(({ id }) => id) ?? [];
  const but = off.length === 0 ? '' : ` but ${nameSome(off, { most: 2 })}`;
  const some = activations.filter((part) => part !== '');
  const active = some.length === 0 ? '' : `; ${nameSome(some, { most: 2 })}`;
  return `${all}${but}${active}`;
}

/** Whether it is on for all work, by its setting or by an activation that narrows nothing, such as that of an alert. */
export function isOnForAll(category: Reach): boolean {
  return category.enabled || activationsOf(category).active.some((activation) => partText(activation) === '');
}

/** The first of the parts that it is on for, and how many more there are; empty without any. */
export function namesOfParts(category: Reach): string {
  const names = onPartsOf(category).map(({ whom }) => whom);
  return names.length === 0 ? '' : nameSome(names, { most: 2, all: countOfParts(category) });
}

/** When a category's present state ends first. */
export function endOf(category: Reach & Pick<Category, 'otelrdcp_expiresAt'>): string | undefined {
  if (isPartlyOn(category)) return onPartsOf(category)[0]?.expiresAt;
  return isRecorded(category) ? partsOf(category)[0]?.expiresAt : category.otelrdcp_expiresAt;
}

function onPartsOf(category: Reach): readonly Part[] {
  return partsOf(category).filter(({ recorded }) => recorded === undefined);
}
