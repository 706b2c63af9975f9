import { RdcpError } from '../errors.ts';
import type { AuditIdentity } from '../protocol/audit-messages.ts';
import type { ControlRequest } from '../protocol/control-request.ts';
import type { ChangeRecord, StateOrigin } from '../protocol/messages.ts';
import { formatDuration, timestamp } from '../protocol/time.ts';
import type { Maker, Overlay, Setting, Settings } from '../store/state-store.ts';

/** Names listed in a message; the rest is counted. */
const NAMED = 5;

/**
 * Unknown names repeated in an error answer and its audit entry. The client chooses how many it sends, so they are
 * capped.
 */
export const MAX_REFUSED_NAMES = 20;

/** A list of names for a message. */
export function nameSome(names: readonly string[]): string {
  if (names.length <= NAMED) return names.join(', ');
  return `${names.slice(0, NAMED).join(', ')} and ${names.length - NAMED} more`;
}

/** The layers that decide a category's state for a scope. The tenant's own layer comes before the global one. */
export interface Layers {
  readonly global: Settings;
  /** Absent for the global scope itself. */
  readonly tenant?: Settings | undefined;
}

/** The state of a category in a scope, and the layer it comes from. */
export interface EffectiveState {
  readonly enabled: boolean;
  readonly origin: StateOrigin;
  /** Present when a temporary control decides, either the scope's own or the inherited global one. */
  readonly overlay?: Overlay;
  /** Who made the control that decides. */
  readonly by?: Maker | undefined;
}

/** Whether an overlay has ended. */
export type Ended = (overlay: Overlay) => boolean;

/** Precedence: tenant overlay, tenant permanent, global overlay, global permanent, registered default. */
export function effectiveState(
  category: string,
  { global, tenant }: Layers,
  defaultEnabled: boolean,
  ended: Ended,
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
  ended: Ended,
): EffectiveState | undefined {
  const overlay = setting?.temporary;
  if (overlay !== undefined && !ended(overlay))
    return { enabled: overlay.enabled, origin: 'temporary', overlay, by: overlay.by };
  if (setting?.permanent === undefined) return undefined;
  return { enabled: setting.permanent, origin, ...(setting.by && { by: setting.by }) };
}

// Most settings of many tenants are one of these two, so they share the objects.
const ON: Setting = Object.freeze({ permanent: true });
const OFF: Setting = Object.freeze({ permanent: false });

/** Combines a permanent state, who made it, and a temporary state; `undefined` when there is no state. */
export function settingOf({ permanent, by, temporary }: Setting): Setting | undefined {
  if (permanent === undefined) return temporary && { temporary };
  if (temporary === undefined && by === undefined) return permanent ? ON : OFF;
  return { permanent, ...(by && { by }), ...(temporary && { temporary }) };
}

/** Sets one category, or deletes it when the setting is empty. */
export function putSetting(settings: Map<string, Setting>, category: string, setting: Setting): void {
  const combined = settingOf(setting);
  if (combined === undefined) settings.delete(category);
  else settings.set(category, combined);
}

export function sameOverlay(a: Overlay | undefined, b: Overlay | undefined): boolean {
  return a?.enabled === b?.enabled && a?.expiresAt === b?.expiresAt && sameBudget(a?.budget, b?.budget);
}

function sameBudget(a: Overlay['budget'], b: Overlay['budget']): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

/** Overlays that have not ended. */
export function liveOverlays(settings: Settings, ended: Ended): ReadonlyMap<string, Overlay> {
  const live = new Map<string, Overlay>();
  for (const [category, { temporary }] of settings) {
    if (temporary !== undefined && !ended(temporary)) live.set(category, temporary);
  }
  return live;
}

/** Bounds of temporary controls; durations in seconds. */
export interface ControlLimits {
  readonly defaultDuration: number;
  readonly maxDuration: number;
  /** Most live temporary controls in one scope. */
  readonly maxTemporary: number;
}

/** The state on which a command is computed. */
export interface Snapshot extends Layers {
  /** Every registered category and its default state. */
  readonly defaults: ReadonlyMap<string, boolean>;
  readonly limits: ControlLimits;
  readonly ended: Ended;
}

export interface Transition {
  /** The addressed categories: those named, or all. */
  readonly categories: readonly string[];
  /** One record per registered category, in the order of `categories`. */
  readonly changes: readonly ChangeRecord[];
  /** The new settings of the addressed scope; the same object when there is nothing to write. */
  readonly settings: Settings;
}

/**
 * Computes what a command does to the addressed scope: the tenant's if present, otherwise the global one.
 * @param now wall time, milliseconds since the epoch
 * @param identity noted in temporary controls. @default nobody
 * @throws {RdcpError} `RDCP_CATEGORY_NOT_FOUND`, `RDCP_MALFORMED_REQUEST` for a duration above the maximum, or
 * `RDCP_TEMPORARY_LIMIT`; nothing is applied then
 */
export function transition(
  snapshot: Snapshot,
  request: ControlRequest,
  now: number,
  identity?: AuditIdentity,
): Transition {
  const { defaults, limits } = snapshot;
  const categories = request.categories ?? [...defaults.keys()].sort();
  assertKnown(categories, defaults);
  const seconds = overlaySeconds(request, limits);
  const expiresAt = seconds === undefined ? undefined : now + seconds * 1000;
  const before = snapshot.tenant ?? snapshot.global;

  if (request.action === 'status') {
    return { categories, settings: before, changes: changesBetween(snapshot, snapshot, categories, now) };
  }
  const by = identity && makerOf(identity, request, now);
  const settings = new Map(before);
  for (const category of categories) {
    putSetting(settings, category, nextSetting(category, snapshot, request, expiresAt, by));
  }
  forgetOldMakers(settings);
  if (expiresAt !== undefined) assertWithinLimit(settings, before, snapshot);
  return { categories, settings, changes: changesBetween(snapshot, replaced(snapshot, settings), categories, now) };
}

/**
 * Removes every ended overlay of the addressed scope, which uncovers the layers below; `undefined` when there is none.
 */
export function expire(snapshot: Snapshot, now: number): Transition | undefined {
  const before = snapshot.tenant ?? snapshot.global;
  const over = [...before].filter(([, { temporary }]) => temporary !== undefined && snapshot.ended(temporary));
  if (over.length === 0) return undefined;
  const settings = new Map(before);
  for (const [category, { permanent, by }] of over) putSetting(settings, category, { permanent, by });
  const categories = over.map(([category]) => category).sort();
  const inForce: Snapshot = { ...snapshot, ended: () => false };
  return { settings, categories, changes: changesBetween(inForce, replaced(snapshot, settings), categories, now) };
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
  const changes = changesBetween(snapshot, replaced(snapshot, settings), categories, now);
  return { settings, categories, changes, excess };
}

/** The same layers with the addressed scope's settings replaced. */
function replaced(snapshot: Snapshot, settings: Settings): Snapshot {
  return snapshot.tenant === undefined ? { ...snapshot, global: settings } : { ...snapshot, tenant: settings };
}

/** @throws {RdcpError} `RDCP_CATEGORY_NOT_FOUND` with `details.unknown` */
export function assertKnown(categories: readonly string[], known: { has(name: string): boolean }): void {
  const unknown = categories.filter((category) => !known.has(category));
  if (unknown.length === 0) return;
  const noun = unknown.length === 1 ? 'category' : 'categories';
  throw new RdcpError('RDCP_CATEGORY_NOT_FOUND', `Unknown ${noun}: ${nameSome(unknown)}`, {
    details: {
      unknown: unknown.slice(0, MAX_REFUSED_NAMES),
      ...(unknown.length > MAX_REFUSED_NAMES && { unknownCount: unknown.length }),
    },
  });
}

/**
 * Duration of a request's overlays in seconds; `undefined` for a permanent change. Naming a duration implies temporary.
 * @throws {RdcpError} `RDCP_MALFORMED_REQUEST` above the maximum, which is never silently clamped
 */
export function overlaySeconds({ options }: ControlRequest, limits: ControlLimits): number | undefined {
  const duration = options?.duration;
  const lasting = options?.temporary !== true && options?.otelrdcp_budget === undefined;
  if (duration === undefined && lasting) return undefined;
  const seconds = duration ?? limits.defaultDuration;
  if (seconds <= limits.maxDuration) return seconds;
  const maximum = formatDuration(limits.maxDuration);
  throw new RdcpError('RDCP_MALFORMED_REQUEST', `options.duration must be at most ${maximum}`, {
    details: { field: 'options.duration', maximum },
  });
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

/** The addressed scope's new setting for a category. */
function nextSetting(
  category: string,
  snapshot: Snapshot,
  { action, options }: ControlRequest,
  expiresAt: number | undefined,
  by: Maker | undefined,
): Setting {
  if (action === 'reset') return {};
  const enabled = action === 'toggle' ? !stateOf(category, snapshot).enabled : action === 'enable';
  if (expiresAt === undefined) return { permanent: enabled, by };
  // A budget makes a control temporary, and limits nothing of what a toggle switches off.
  if (!enabled && options?.temporary !== true && options?.duration === undefined) return { permanent: enabled, by };
  const current = (snapshot.tenant ?? snapshot.global).get(category);
  const budget = options?.otelrdcp_budget;
  return {
    ...current,
    temporary: { enabled, expiresAt, ...(enabled && budget !== undefined && { budget }), ...(by && { by }) },
  };
}

/** The effective state of a category in the addressed scope. */
export function stateOf(category: string, snapshot: Snapshot): EffectiveState {
  return effectiveState(category, snapshot, snapshot.defaults.get(category) === true, snapshot.ended);
}

/** One change record per category: the effective state before and after. Unregistered categories have none. */
export function changesBetween(
  before: Snapshot,
  after: Snapshot,
  categories: readonly string[],
  now: number,
): readonly ChangeRecord[] {
  const effectiveAt = timestamp(now);
  const known = categories.filter((category) => after.defaults.has(category));
  return known.map((category) => {
    const { enabled, overlay } = stateOf(category, after);
    return {
      category,
      previousState: stateOf(category, before).enabled,
      newState: enabled,
      temporary: overlay !== undefined,
      effectiveAt,
      ...(overlay !== undefined && { expiresAt: timestamp(overlay.expiresAt) }),
    };
  });
}

/** Replacing an overlay does not count against the limit, even when the limit was lowered since. */
function assertWithinLimit(after: Settings, before: Settings, { limits: { maxTemporary }, ended }: Snapshot): void {
  const count = liveOverlays(after, ended).size;
  if (count <= maxTemporary || count <= liveOverlays(before, ended).size) return;
  throw new RdcpError('RDCP_TEMPORARY_LIMIT', `At most ${maxTemporary} temporary controls may be in force at a time`, {
    details: { maximum: maxTemporary },
  });
}
