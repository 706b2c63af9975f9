import type { DiscoveredCategory, SessionResponse } from '../../../wire/messages.ts';
import { matchesAny } from '../../../wire/names.ts';
import { parseDuration } from '../../../wire/time.ts';
import { isRecorded } from '../../../wire/words/state.ts';

/** The change that the dialog asks about. `end` ends a temporary control and leaves a permanent setting, `reset` removes both. */
export type Intent = 'enable' | 'disable' | 'toggle' | 'end' | 'reset' | 'extend';

/** Whether the change removes the setting. */
export function isReset(intent: Intent): boolean {
  return intent === 'end' || intent === 'reset';
}

/** The action that a change is sent as. */
export function actionOf(intent: Intent): 'enable' | 'disable' | 'toggle' | 'reset' {
  if (isReset(intent)) return 'reset';
  return intent === 'disable' || intent === 'toggle' ? intent : 'enable';
}

/** What limits a credential beside its scopes. */
type Limited = Pick<SessionResponse, 'otelrdcp_allow' | 'otelrdcp_approval'>;

type Offered = readonly [intent: Intent, text: string];

const END: Offered = ['end', 'End now…'];

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

/**
 * The changes that a category offers, the most frequent first. A tenant's own control can be ended, one for everybody can
 * only be overruled.
 */
export function intentsOf(category: DiscoveredCategory, tenant: string | undefined): readonly Offered[] {
  const { enabled, temporary } = category;
  const ends = temporary && (tenant === undefined || !isForEverybody(category, tenant));
  const off: Offered[] = isRecorded(category) ? [['disable', 'Disable…']] : [];
  if (!enabled) return [['enable', 'Enable…'], ...(ends ? [END] : off)];
  return ends ? [['extend', 'Extend…'], END] : [['disable', 'Disable…']];
}

/** Whether a credential may do this, alone or with the approval of somebody else. */
export function isAllowed(intent: Intent | 'tail' | 'forecast', name: string | undefined, session: Limited): boolean {
  const allow = limitsOf(session);
  if (allow === undefined) return true;
  const action = intent === 'tail' || intent === 'forecast' ? intent : actionOf(intent);
  return (
    (allow.actions === undefined || allow.actions.includes(action)) &&
    (name === undefined || matchesAny(allow.categories, name))
  );
}

/** Longest time that a credential may switch something on for, in seconds; `undefined` if it may do so for good. */
export function longestAllowed(session: Limited): number | undefined {
  const { maxDuration } = limitsOf(session) ?? {};
  return maxDuration === undefined ? undefined : parseDuration(maxDuration);
}

function limitsOf({ otelrdcp_allow: allow, otelrdcp_approval: approval }: Limited) {
  return approval === true ? undefined : allow;
}
