import type { Allow, Limits } from '../wire/allow.ts';
import { type AllowedAction, type AuthMethod, isQuiet } from '../wire/constants.ts';
import type { ControlRequest } from '../wire/control-request.ts';
import type { RdcpError } from '../wire/errors.ts';
import type { ControlBudget } from '../wire/messages.ts';
import { matchesAny } from '../wire/names.ts';
import { nameSome } from '../wire/printable.ts';
import type { LineFilter, Match } from '../wire/target.ts';
import { parseDuration } from '../wire/time.ts';
import { CHANGE_REFUSALS, NOT_ALLOWED } from './refusals.ts';
import { type ControlLimits, overlaySeconds, type Snapshot, type Transition } from './transition.ts';

// The `allow` of a credential, for whatever it asks to change or to read.

export function isBeyondAllow({ code, details }: RdcpError): boolean {
  return code === 'RDCP_FORBIDDEN' && details?.reason === NOT_ALLOWED;
}

export interface Holder {
  readonly allow: Allow;
  readonly method?: AuthMethod | undefined;
}

interface Defaults extends Pick<ControlLimits, 'defaultDuration' | 'maxDuration'> {
  /** Configured calls per second of a category; `undefined` when unlimited. */
  readonly configuredRate: (category: string) => number | undefined;
}

/**
 * Puts the limits of the credential in the place of the server's defaults: the duration of a temporary control that names none,
 * and the budget of one that switches on. What the request names stays as it is.
 */
export function withDefaultsOf(allow: Allow, request: ControlRequest, defaults: Defaults): ControlRequest {
  const { action, categories = [], options } = request;
  if (overlaySeconds(request, defaults) === undefined) return request;
  const longest = secondsOf(allow.maxDuration);
  const given = options?.otelrdcp_budget;
  const writes = (action === 'enable' || action === 'toggle') && options?.otelrdcp_record === undefined;
  const limited = allow.maxBudget !== undefined && given !== false && writes;
  return {
    ...request,
    options: {
      ...options,
      ...(options?.duration === undefined && longest < defaults.defaultDuration && { duration: longest }),
      ...(limited && { otelrdcp_budget: { ...usualBudget(allow.maxBudget, categories, defaults), ...given } }),
    },
  };
}

/** The largest budget, without a larger rate than the configured one, which would need the scope `admin`. */
function usualBudget(
  maxBudget: ControlBudget,
  categories: readonly string[],
  { configuredRate }: Defaults,
): ControlBudget {
  const { callsPerSecond: rate } = maxBudget;
  if (rate === undefined) return maxBudget;
  const rates = categories.map((name) => configuredRate(name) ?? Number.POSITIVE_INFINITY);
  return { ...maxBudget, callsPerSecond: Math.min(rate, ...rates) };
}

export interface Intended {
  readonly request: ControlRequest;
  /** The tenant whose settings change; absent for those of everybody. */
  readonly tenantId?: string | undefined;
  readonly snapshot: Snapshot;
  readonly next: Transition;
}

/** @throws {RdcpError} `RDCP_FORBIDDEN` with `details.reason` `not_allowed` for a change beyond what the credential allows */
export function assertMayChange(holder: Holder, { request, tenantId, snapshot, next }: Intended): void {
  const { options } = request;
  const { allow } = holder;
  if (request.action === 'status') return;
  // Quietening holds back lines that would be written, so a key that may only enable may not do it.
  const quietens = options?.otelrdcp_level !== undefined && isQuiet(options.otelrdcp_level);
  const action = quietens ? 'disable' : request.action;
  assertMay(holder, { action, categories: next.categories, tenantId });
  assertMaySelect(holder, { match: options?.otelrdcp_target?.match, filter: options?.otelrdcp_filter });
  const seconds = overlaySeconds(request, snapshot.limits);
  const before = snapshot.tenant ?? snapshot.global;
  const lasting = next.categories.filter((name) => next.settings.get(name)?.permanent !== before.get(name)?.permanent);
  const isPermanent =
    lasting.length > 0 || (seconds === undefined && action !== 'reset' && options?.otelrdcp_id === undefined);
  if (allow.maxDuration !== undefined && isPermanent) throw permanent(holder, action);
  assertDuration(holder, 'options.duration', seconds);
  const switchesOn = (action === 'enable' || action === 'toggle') && options?.otelrdcp_record === undefined;
  if (allow.maxBudget === undefined || !switchesOn) return;
  const most = JSON.stringify(allow.maxBudget);
  if (lasting.some((name) => next.settings.get(name)?.permanent === true) || (action === 'enable' && isPermanent)) {
    throw notAllowed(
      holder,
      'options.temporary',
      `must be true: what this credential switches on has a budget of at most ${most}, and a permanent control has none`,
    );
  }
  if (seconds !== undefined && !isWithin(options?.otelrdcp_budget, allow.maxBudget)) {
    throw notAllowed(holder, 'options.otelrdcp_budget', `must be at most ${most} for this credential`);
  }
}

function permanent(holder: Holder, action: ControlRequest['action']): RdcpError {
  const why = 'this credential changes no permanent settings';
  return action === 'reset'
    ? notAllowed(holder, 'options.otelrdcp_only', `must be 'temporary': ${why}`)
    : notAllowed(holder, 'options.duration', `is required, at most ${holder.allow.maxDuration}: ${why}`);
}

interface Reading {
  readonly action: 'tail' | 'forecast';
  readonly categories: readonly string[];
  readonly tenantId: string | undefined;
  readonly seconds: number;
  readonly match: Match | undefined;
  readonly filter: LineFilter | undefined;
  readonly log?: boolean;
}

/** @throws {RdcpError} `RDCP_FORBIDDEN` with `details.reason` `not_allowed` for what the credential may not read */
export function assertMayRead(holder: Holder, { seconds, log = false, ...reading }: Reading): void {
  assertMay(holder, reading);
  assertDuration(holder, 'duration', seconds);
  assertMaySelect(holder, reading);
  if (log && holder.allow.maxBudget !== undefined) {
    throw notAllowed(
      holder,
      'log',
      'must be false for this credential: a tail has no budget in the outputs of the service',
    );
  }
}

/** Longest control and tail of a credential, in seconds. */
export function longestOf({ allow }: Limits = {}): number {
  return secondsOf(allow?.maxDuration);
}

/** Whether the credential allows what an alert switches on: a control without a budget of its own. */
export function maySwitchOn(
  allow: Allow,
  control: { readonly categories: readonly string[]; readonly tenantId: string | undefined; readonly seconds: number },
): boolean {
  try {
    assertMay({ allow }, { ...control, action: 'enable' });
    assertDuration({ allow }, 'for', control.seconds);
    return allow.maxBudget === undefined;
  } catch {
    return false;
  }
}

function assertMay(
  holder: Holder,
  asked: {
    readonly action: AllowedAction;
    readonly categories: readonly string[];
    readonly tenantId?: string | undefined;
  },
): void {
  const { categories, actions, tenants } = holder.allow;
  if (actions?.includes(asked.action) === false) {
    throw notAllowed(holder, 'action', `${asked.action} is not allowed for this credential, but ${actions.join(', ')}`);
  }
  const others = asked.categories.filter((name) => !matchesAny(categories, name));
  if (others.length > 0) {
    throw notAllowed(
      holder,
      'categories',
      `must match ${categories.join(', ')} for this credential; ${nameSome(others)} ${others.length === 1 ? 'does' : 'do'} not`,
    );
  }
  const { tenantId } = asked;
  if (tenants !== undefined && (tenantId === undefined || !matchesAny(tenants, tenantId))) {
    throw notAllowed(holder, 'tenant', `must be one of ${tenants.join(', ')} for this credential`);
  }
}

function assertDuration(holder: Holder, field: string, seconds: number | undefined): void {
  const { maxDuration } = holder.allow;
  if (seconds === undefined || seconds <= secondsOf(maxDuration)) return;
  throw notAllowed(holder, field, `must be at most ${maxDuration} for this credential`);
}

/** Conditions on values would show what the lines hide: line by line, or by how many there are. */
function assertMaySelect(
  holder: Holder,
  { match = {}, filter }: { readonly match?: Match | undefined; readonly filter?: LineFilter | undefined },
): void {
  if (holder.allow.tail !== 'redacted') return;
  if (filter?.where !== undefined) {
    throw notAllowed(
      holder,
      'filter.where',
      'is not allowed for this credential, which does not see values of attributes',
    );
  }
  if (Object.values(match).some((value) => value.endsWith('*'))) {
    throw notAllowed(
      holder,
      'target.match',
      'must hold whole values for this credential, which does not see values of attributes',
    );
  }
}

function isWithin(budget: ControlBudget | false | undefined, most: ControlBudget): boolean {
  if (budget === undefined || budget === false) return false;
  return (['callsPerSecond', 'calls', 'bytes'] as const).every(
    (name) => most[name] === undefined || (budget[name] ?? Number.POSITIVE_INFINITY) <= most[name],
  );
}

function secondsOf(maxDuration: Allow['maxDuration']): number {
  return parseDuration(maxDuration) ?? Number.POSITIVE_INFINITY;
}

/** @param problem follows the name of the field */
function notAllowed({ allow, method }: Holder, field: string, problem: string): RdcpError {
  return CHANGE_REFUSALS.notAllowed(allow, method, field, problem);
}
