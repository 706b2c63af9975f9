import { randomUUID as newId } from 'node:crypto';
import {
  type Activation,
  type Maker,
  NO_END,
  type Overlay,
  type Setting,
  type Settings,
} from '../store/state-store.ts';
import type { AuditIdentity } from '../wire/audit-messages.ts';
import { type Level, RECORDING_SECONDS } from '../wire/constants.ts';
import { OPTION_RULES } from '../wire/control-options.ts';
import type { ControlRequest } from '../wire/control-request.ts';
import type { ChangeRecord, StateOrigin } from '../wire/messages.ts';
import { nameSome } from '../wire/printable.ts';
import { formatDuration, type Timestamp, timestamp } from '../wire/time.ts';
import { activationText } from '../wire/words/activation.ts';
import { levelText } from '../wire/words/level.ts';
import {
  type ActivationSources,
  activationOf,
  assertRoomForActivation,
  endText,
  isOfAlert,
  ofCategory,
} from './activation.ts';
import { CHANGE_REFUSALS } from './refusals.ts';

/** For commands that make no ticket. */
export const UNTICKETED: ActivationSources = {
  randomUUID: newId,
  ticketFor() {
    throw new Error('no tickets are made here');
  },
};

/** The layers that decide a category's state for a scope. The tenant's own layer comes before the global one. */
export interface Layers {
  readonly global: Settings;
  /** Absent for the global scope itself. */
  readonly tenant?: Settings | undefined;
}

export interface EffectiveState {
  readonly enabled: boolean;
  readonly origin: StateOrigin;
  /** Present when a temporary control decides, either the scope's own or the inherited global one. */
  readonly overlay?: Overlay;
  /** Who made the control that decides. */
  readonly by?: Maker | undefined;
  /** The least urgent level that comes out. @default every line */
  readonly level?: Level | undefined;
}

export type EndCheck = (control: Overlay | Activation) => boolean;

/** Precedence: tenant overlay, tenant permanent, global overlay, global permanent, registered default. */
export function effectiveState(
  category: string,
  { global, tenant }: Layers,
  defaultEnabled: boolean,
  ended: EndCheck,
): EffectiveState {
  return (
    settingState(tenant?.get(category), 'tenant', ended) ??
    settingState(global.get(category), 'global', ended) ?? { enabled: defaultEnabled, origin: 'default' }
  );
}

/** The state from one layer's setting; `undefined` when it has none. */
export function settingState(
  setting: Setting | undefined,
  origin: 'tenant' | 'global',
  ended: EndCheck,
): EffectiveState | undefined {
  const overlay = setting?.temporary;
  if (overlay !== undefined && !ended(overlay))
    return { enabled: overlay.enabled, origin: 'temporary', overlay, by: overlay.by, ...levelOf(overlay) };
  if (setting?.permanent === undefined) return undefined;
  return { enabled: setting.permanent, origin, ...(setting.by && { by: setting.by }), ...levelOf(setting) };
}

function levelOf({ level }: Overlay | Setting): Pick<EffectiveState, 'level'> {
  return level === undefined ? {} : { level };
}

/** Sets one category, or deletes it when there is neither a permanent nor a temporary state. */
export function putSetting(
  settings: Map<string, Setting>,
  category: string,
  { permanent, by, level, temporary }: Setting,
): void {
  if (permanent === undefined) {
    if (temporary === undefined) settings.delete(category);
    else settings.set(category, { temporary });
    return;
  }
  const lasting = { permanent, ...(by !== undefined && { by }), ...(level !== undefined && { level }) };
  settings.set(category, temporary === undefined ? lasting : { ...lasting, temporary });
}

export function sameOverlay(a: Overlay | undefined, b: Overlay | undefined): boolean {
  if (a?.enabled !== b?.enabled || a?.level !== b?.level) return false;
  return a?.expiresAt === b?.expiresAt && sameBudget(a?.budget, b?.budget);
}

function sameBudget(a: Overlay['budget'], b: Overlay['budget']): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

export function liveOverlays(settings: Settings, ended: EndCheck): ReadonlyMap<string, Overlay> {
  const live = new Map<string, Overlay>();
  for (const [category, { temporary }] of settings) {
    if (temporary !== undefined && !ended(temporary)) live.set(category, temporary);
  }
  return live;
}

export interface ControlLimits {
  readonly defaultDuration: number;
  readonly maxDuration: number;
  /** Most live temporary controls in one scope. */
  readonly maxTemporary: number;
}

/** The state on which a command is computed. */
export interface Snapshot extends Layers {
  /** Of the addressed scope. @default none */
  readonly activations?: readonly Activation[];
  /** Every known category of the fleet and its default state. */
  readonly defaults: ReadonlyMap<string, boolean>;
  /** The store does not say which categories other processes have. @default false */
  readonly alone?: boolean;
  /** Categories that no process has yet are accepted. @default false */
  readonly early?: boolean | undefined;
  readonly limits: ControlLimits;
  readonly ended: EndCheck;
}

export interface Transition {
  /** The addressed categories: those named, or all; of an end without names those that it is about. */
  readonly categories: readonly string[];
  /** One record per registered category, in the order of `categories`. An end has none for those that were off. */
  readonly changes: readonly ChangeRecord[];
  /** The new settings of the addressed scope; the same object when there is nothing to write. */
  readonly settings: Settings;
  readonly activations: readonly Activation[];
  /** The activation that was made, or that alone was ended. */
  readonly activation?: Activation | undefined;
}

/** The effect of a command, with its time and its summary. */
export interface CommandEffect extends Transition {
  readonly at: Timestamp;
  readonly summary: string;
}

/**
 * Computes what a command does to the addressed scope: the tenant's if present, otherwise the global one.
 * @param now wall time, milliseconds since the epoch
 * @param identity noted in the settings. @default not known
 * @param sources of a new activation
 * @throws {RdcpError} `RDCP_CATEGORY_NOT_FOUND`, `RDCP_MALFORMED_REQUEST` for a duration above the maximum, or
 * `RDCP_TEMPORARY_LIMIT`; nothing is applied then
 */
export function transition(
  snapshot: Snapshot,
  request: ControlRequest,
  now: number,
  identity?: AuditIdentity,
  sources: ActivationSources = UNTICKETED,
): CommandEffect {
  const { defaults, limits, activations = [] } = snapshot;
  const categories = request.categories ?? [...defaults.keys()].sort();
  assertKnown(categories, snapshot);
  const seconds = overlaySeconds(request, limits);
  const { until = Number.POSITIVE_INFINITY } = sources;
  const end = seconds === undefined ? undefined : now + seconds * 1000;
  const expiresAt = end === undefined ? undefined : Math.min(end, until);
  const before = snapshot.tenant ?? snapshot.global;
  const at = timestamp(now);
  const { action } = request;
  if (action === 'status') {
    const changes = changesBetween(snapshot, snapshot, categories, at);
    return { at, categories, settings: before, activations, changes, summary: summarize(request, changes) };
  }
  const by = identity && makerOf(identity, request, now);
  const unchanged = { at, settings: before, changes: [] };
  if (isActivating(request)) {
    const activation = activationOf(request, categories, expiresAt ?? NO_END, by, sources);
    assertRoom(snapshot, activation);
    const summary = `Enabled ${activationText(activation, { values: true })} ${endText(activation)}`;
    return { ...unchanged, categories, activations: [...activations, activation], activation, summary };
  }
  const id = request.options?.otelrdcp_id;
  if (id !== undefined) return { ...unchanged, ...endOne(activations, id) };
  const settings = new Map(before);
  for (const category of categories) {
    putSetting(settings, category, nextSetting(category, snapshot, request, expiresAt, by));
  }
  forgetOldMakers(settings);
  if (expiresAt !== undefined) assertWithinLimit(settings, before, snapshot);
  const ending = request.action === 'disable' || request.action === 'reset';
  const left = ending ? withoutCategories(activations, categories) : activations;
  const isEnd = action === 'reset' && request.options?.otelrdcp_only !== undefined;
  // What was off, and had nothing to end, is not part of it.
  const touched = isEnd
    ? categories.filter((name) => isTemporary(name, snapshot) || stateOf(name, snapshot).enabled)
    : categories;
  const changes = changesBetween(snapshot, replaced(snapshot, settings), touched, at);
  const ended = isEnd ? changes.filter(({ category }) => isTemporary(category, snapshot)) : changes;
  const staying = isEnd ? changes.filter(({ newState }) => newState) : [];
  const summary = `${summarize(request, ended)}${endedToo(activations, left)}${stayingOn(staying)}`;
  return { at, categories: request.categories ?? touched, settings, activations: left, changes, summary };
}

function isTemporary(category: string, { tenant, global, activations }: Snapshot): boolean {
  return (tenant ?? global).get(category)?.temporary !== undefined || ofCategory(activations, category).length > 0;
}

/** Whether a request makes an activation, instead of a setting. An empty target is for all work. */
export function isActivating({ action, options }: ControlRequest): boolean {
  const { otelrdcp_target, otelrdcp_filter, otelrdcp_when, otelrdcp_record } = options ?? {};
  return action === 'enable' && (otelrdcp_target ?? otelrdcp_filter ?? otelrdcp_when ?? otelrdcp_record) !== undefined;
}

/** Ends the activations of these categories. One that has others goes on for them. */
function withoutCategories(activations: readonly Activation[], categories: readonly string[]): readonly Activation[] {
  const ended = new Set(categories);
  if (!activations.some((each) => each.categories.some((name) => ended.has(name)))) return activations;
  return activations.flatMap((each) => {
    const left = each.categories.filter((name) => !ended.has(name));
    if (left.length === each.categories.length) return each;
    return left.length === 0 ? [] : { ...each, categories: left };
  });
}

/** Ends one activation. An id that is not there, or not any more, ends nothing. */
function endOne(activations: readonly Activation[], id: string) {
  const activation = activations.find((each) => each.id === id);
  if (activation === undefined) return { categories: [], activations, summary: 'Ended nothing: no such activation' };
  const summary = `Ended ${activationText(activation, { values: false })}`;
  return { ...without(activations, activation), summary };
}

function without(activations: readonly Activation[], activation: Activation) {
  const { categories } = activation;
  return { categories, activations: activations.filter((each) => each !== activation), activation };
}

function endedToo(before: readonly Activation[], after: readonly Activation[]): string {
  const kept = new Set(after);
  const count = before.filter((each) => !kept.has(each)).length;
  return count === 0 ? '' : `; ${count === 1 ? '1 activation' : `${count} activations`} ended`;
}

function stayingOn(changes: readonly ChangeRecord[]): string {
  if (changes.length === 0) return '';
  return `; ${nameSome(changes.map(({ category }) => category))} ${changes.length === 1 ? 'stays' : 'stay'} on`;
}

/**
 * Alerts have as many places as operators and share none with them: who invents alerts takes none from an operator.
 * @throws {RdcpError} `RDCP_TEMPORARY_LIMIT` where there is no room for one more activation
 */
function assertRoom(snapshot: Snapshot, { categories, by }: Pick<Activation, 'categories' | 'by'>): void {
  const { activations = [], ended, limits, tenant, global } = snapshot;
  const live = activations.filter((each) => isOfAlert(each.by) === isOfAlert(by) && !ended(each));
  assertRoomForActivation(categories, live);
  const overlays = isOfAlert(by) ? 0 : liveOverlays(tenant ?? global, ended).size;
  if (overlays + live.length >= limits.maxTemporary) throw CHANGE_REFUSALS.manyTemporary(limits.maxTemporary);
}

const DONE = { enable: 'Enabled', disable: 'Disabled', toggle: 'Toggled', reset: 'Reset' } as const;

function summarize({ action, options }: ControlRequest, changes: readonly ChangeRecord[]): string {
  if (action === 'status') {
    const on = changes.filter(({ newState }) => newState).length;
    return `${on} of ${changes.length === 1 ? '1 category' : `${changes.length} categories`} enabled`;
  }
  const subject = changes.length === 0 ? 'nothing' : nameSome(changes.map(({ category }) => category));
  const until = action === 'reset' ? undefined : changes.find(({ expiresAt }) => expiresAt !== undefined)?.expiresAt;
  const { otelrdcp_only: only, otelrdcp_level: level } = options ?? {};
  const done = only === undefined ? DONE[action] : 'Ended';
  const lines = level === undefined ? '' : ` ${levelText(level)}`;
  return `${done} ${subject}${lines}${until === undefined ? '' : ` until ${until}`}`;
}

/**
 * Removes every ended overlay of the addressed scope, which uncovers the layers below, or else the first activation that
 * has ended; `undefined` when there is none.
 */
export function expire(snapshot: Snapshot, now: number): Transition | undefined {
  const { activations = [] } = snapshot;
  const before = snapshot.tenant ?? snapshot.global;
  const over = [...before].filter(([, { temporary }]) => temporary !== undefined && snapshot.ended(temporary));
  if (over.length === 0) {
    const activation = activations.find(snapshot.ended);
    return activation && { settings: before, changes: [], ...without(activations, activation) };
  }
  const settings = new Map(before);
  for (const [category, setting] of over) putSetting(settings, category, { ...setting, temporary: undefined });
  const categories = over.map(([category]) => category).sort();
  const inForce: Snapshot = { ...snapshot, ended: () => false };
  return {
    settings,
    activations,
    categories,
    changes: changesBetween(inForce, replaced(snapshot, settings), categories, timestamp(now)),
  };
}

/** Overlays added to the addressed scope, and the categories for which the limit left no room. */
export interface Share extends Transition {
  readonly excess: readonly string[];
}

/** Adds overlays to the addressed scope, in the order of category names, as many as the limit allows. */
export function share(snapshot: Snapshot, overlays: ReadonlyMap<string, Overlay>, now: number): Share {
  const before = snapshot.tenant ?? snapshot.global;
  const live = liveOverlays(before, snapshot.ended);
  const settings = new Map(before);
  const categories: string[] = [];
  const excess: string[] = [];
  let room = snapshot.limits.maxTemporary - live.size;
  for (const [category, temporary] of [...overlays].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const another = live.has(category) ? 0 : 1;
    if (another > room) {
      excess.push(category);
      continue;
    }
    room -= another;
    categories.push(category);
    putSetting(settings, category, { ...before.get(category), temporary });
  }
  const changes = changesBetween(snapshot, replaced(snapshot, settings), categories, timestamp(now));
  return { settings, activations: snapshot.activations ?? [], categories, changes, excess };
}

function replaced(snapshot: Snapshot, settings: Settings): Snapshot {
  return snapshot.tenant === undefined ? { ...snapshot, global: settings } : { ...snapshot, tenant: settings };
}

/** @throws {RdcpError} `RDCP_CATEGORY_NOT_FOUND` with `details.unknown` */
export function assertKnown(
  categories: readonly string[],
  { defaults, alone = false, early = false }: Pick<Snapshot, 'defaults' | 'alone' | 'early'>,
): void {
  const unknown = categories.filter((category) => !defaults.has(category));
  if (unknown.length === 0 || early) return;
  throw CHANGE_REFUSALS.unknown(unknown, alone ? ' in this process (its store does not show those of others)' : '');
}

/**
 * Duration of a request's overlays in seconds; `undefined` for a permanent change. Naming a duration implies temporary.
 * @throws {RdcpError} `RDCP_MALFORMED_REQUEST` above the maximum, which is never silently clamped
 */
export function overlaySeconds(
  { options }: ControlRequest,
  limits: Pick<ControlLimits, 'defaultDuration' | 'maxDuration'>,
): number | undefined {
  if (options === undefined) return undefined;
  const { duration } = options;
  if (options.otelrdcp_permanent === true) return undefined;
  const short =
    options.temporary === true ||
    OPTION_RULES.some(({ option, values, lasting }) => {
      const value = options[option];
      return lasting !== undefined && value !== undefined && values?.includes(value) !== false;
    });
  if (duration === undefined && !short) return undefined;
  const seconds = duration ?? limits.defaultDuration;
  const longest = options.otelrdcp_record === true ? longestRecording(limits) : limits.maxDuration;
  if (seconds <= longest) return seconds;
  throw CHANGE_REFUSALS.longDuration(formatDuration(longest));
}

/** Longest duration of what is only recorded, in seconds. */
export function longestRecording({ maxDuration }: Pick<ControlLimits, 'maxDuration'>): number {
  return Math.max(maxDuration, RECORDING_SECONDS);
}

function makerOf({ userId, clientId }: AuditIdentity, { options }: ControlRequest, at: number): Maker {
  const reason = options?.reason;
  return { ...(userId && { userId }), ...(clientId && { clientId }), ...(reason && { reason }), at };
}

/** Permanent settings of a scope that say who made them. Each change writes all settings of its scope. */
const MAX_MAKERS = 64;

/** The newest ones keep it. */
function forgetOldMakers(settings: Map<string, Setting>): void {
  if (settings.size <= MAX_MAKERS) return;
  const made = [...settings].flatMap(([category, { by }]) => (by === undefined ? [] : { category, at: by.at }));
  made.sort((a, b) => b.at - a.at);
  for (const { category } of made.slice(MAX_MAKERS)) {
    putSetting(settings, category, { ...settings.get(category), by: undefined });
  }
}

function nextSetting(
  category: string,
  snapshot: Snapshot,
  { action, options }: ControlRequest,
  expiresAt: number | undefined,
  by: Maker | undefined,
): Setting {
  const current = (snapshot.tenant ?? snapshot.global).get(category);
  if (action === 'reset') {
    return options?.otelrdcp_only === undefined ? {} : { ...current, temporary: undefined };
  }
  const enabled = action === 'toggle' ? !stateOf(category, snapshot).enabled : action === 'enable';
  const { otelrdcp_budget: budget, otelrdcp_level: level } = options ?? {};
  if (expiresAt === undefined) return { permanent: enabled, by, level };
  // A budget makes a control temporary, and limits nothing of what a toggle switches off.
  if (!enabled && options?.temporary !== true && options?.duration === undefined) return { permanent: enabled, by };
  return {
    ...current,
    temporary: {
      enabled,
      expiresAt,
      ...(enabled && budget !== undefined && { budget }),
      ...(level !== undefined && { level }),
      ...(by && { by }),
    },
  };
}

export function stateOf(category: string, snapshot: Snapshot): EffectiveState {
  return effectiveState(category, snapshot, snapshot.defaults.get(category) === true, snapshot.ended);
}

/** One change record per category: the effective state before and after. Unregistered categories have none. */
export function changesBetween(
  before: Snapshot,
  after: Snapshot,
  categories: readonly string[],
  effectiveAt: Timestamp,
): readonly ChangeRecord[] {
  const known = categories.filter((category) => after.defaults.has(category));
  return known.map((category) => {
    const { enabled, overlay, level } = stateOf(category, after);
    return {
      category,
      previousState: stateOf(category, before).enabled,
      newState: enabled,
      temporary: overlay !== undefined,
      effectiveAt,
      ...(overlay !== undefined && { expiresAt: timestamp(overlay.expiresAt) }),
      ...(level !== undefined && { otelrdcp_level: level }),
    };
  });
}

/** Replacing an overlay does not count against the limit, even when the limit was lowered since. */
function assertWithinLimit(
  after: Settings,
  before: Settings,
  { limits: { maxTemporary }, activations = [], ended }: Snapshot,
): void {
  const overlays = liveOverlays(after, ended).size;
  const count = overlays + activations.filter((each) => !isOfAlert(each.by) && !ended(each)).length;
  if (count > maxTemporary && overlays > liveOverlays(before, ended).size)
    throw CHANGE_REFUSALS.manyTemporary(maxTemporary);
}
