import type { DiscoveredCategory, SessionResponse } from '../../../wire/messages.ts';
import { matchesAny } from '../../../wire/names.ts';
import { parseDuration } from '../../../wire/time.ts';
import { isRecorded } from '../../../wire/words/state.ts';

/** The changes that the dialog asks about. `end` ends a temporary control and leaves a permanent setting, the last two remove both. */
export const VERBS = {
  enable: 'Enable',
  extend: 'Extend',
  disable: 'Disable',
  toggle: 'Toggle',
  end: 'End now',
  reset: 'Reset',
  off: 'Turn off',
} as const;
export type Intent = keyof typeof VERBS;

/** Whether the change removes the setting. */
export function isReset(intent: Intent): boolean {
  return intent === 'end' || intent === 'reset' || intent === 'off';
}

/** Whether the change switches something off. */
export function isEnding(intent: Intent): boolean {
  return intent === 'end' || intent === 'off' || intent === 'disable';
}

/** The action that a change is sent as. */
export function actionOf(intent: Intent): 'enable' | 'disable' | 'toggle' | 'reset' {
  if (isReset(intent)) return 'reset';
  return intent === 'disable' || intent === 'toggle' ? intent : 'enable';
}

interface Change {
  readonly intent: Intent;
  readonly categories: readonly string[];
  /** `undefined` for a change without an end. */
  readonly seconds: number | undefined;
}

/** What limits a credential beside its scopes. */
type CredentialLimits = Pick<SessionResponse, 'otelrdcp_allow' | 'otelrdcp_approval'>;

type Offered = readonly [intent: Intent, text: string];

const END: Offered = ['end', 'End now…'];
const OFF: Offered = ['off', 'Turn off for good…'];
const DISABLE: Offered = ['disable', 'Disable…'];

/**
 * Whether what is shown is set for everybody.
 * @param tenant whose settings are shown. It cannot see who made a control for everybody, so a control without a maker is not its own.
 */
export function isForEverybody(
  { otelrdcp_origin: origin, otelrdcp_control: control }: DiscoveredCategory,
  tenant: string | undefined,
): boolean {
  return tenant === undefined || origin === 'global' || origin === 'default' || (origin === 'temporary' && !control);
}

/** Whether what is shown can be ended here, and not only overruled. */
export function isOwn(category: DiscoveredCategory, tenant: string | undefined): boolean {
  return tenant === undefined || !isForEverybody(category, tenant);
}

/**
 * The changes that a category offers, the most frequent first. A tenant's own control can be ended, one for everybody can
 * only be overruled.
 */
export function intentsOf(category: DiscoveredCategory, tenant: string | undefined): readonly Offered[] {
  const { enabled, temporary, otelrdcp_default: byDefault } = category;
  const own = isOwn(category, tenant);
  const off = isRecorded(category) ? [DISABLE] : [];
  if (!enabled) return [['enable', 'Enable…'], ...(own && temporary ? [END] : off)];
  if (temporary) return own ? [['extend', 'Extend…'], END] : [DISABLE];
  return own && !byDefault ? [OFF] : [DISABLE];
}

/** Whether a credential may do this, alone or with the approval of somebody else. */
export function isAllowed(
  intent: Intent | 'tail' | 'forecast',
  name: string | undefined,
  session: CredentialLimits,
): boolean {
  const allow = limitsOf(session);
  if (allow === undefined) return true;
  const action = intent === 'tail' || intent === 'forecast' ? intent : actionOf(intent);
  return (
    (allow.actions === undefined || allow.actions.includes(action)) &&
    (name === undefined || matchesAny(allow.categories, name))
  );
}

/** Longest time that a credential may switch something on for, in seconds; `undefined` if it may do so for good. */
export function longestAllowed(session: CredentialLimits): number | undefined {
  const { maxDuration } = limitsOf(session) ?? {};
  return maxDuration === undefined ? undefined : parseDuration(maxDuration);
}

/** Whether a change has to wait for the approval of another user. */
export function needsApproval(
  { intent, categories, seconds = Number.POSITIVE_INFINITY }: Change,
  { otelrdcp_allow: allow, otelrdcp_approval: approval }: CredentialLimits,
): boolean {
  if (allow === undefined || approval !== true) return false;
  const limits: CredentialLimits = { otelrdcp_allow: allow };
  const isLong = !isReset(intent) && seconds > (longestAllowed(limits) ?? Number.POSITIVE_INFINITY);
  return isLong || categories.some((name) => !isAllowed(intent, name, limits));
}

function limitsOf({ otelrdcp_allow: allow, otelrdcp_approval: approval }: CredentialLimits) {
  return approval === true ? undefined : allow;
}
