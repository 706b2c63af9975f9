import type { ControlCommand } from '../../../client.ts';
import type { ControlBudget, ControlResponse, DiscoveredCategory, FleetSummary } from '../../../wire/messages.ts';
import { nameSome } from '../../../wire/printable.ts';
import { formatDuration, parseDuration } from '../../../wire/time.ts';
import { partText, whenText } from '../../../wire/words/activation.ts';
import { appliedText, NOT_SHARED, silentText, staysOff } from '../../../wire/words/change.ts';
import { capitalized } from '../../../wire/words/count.ts';
import { controlOptionsOf } from '../../client/fields.ts';
import { randomId } from '../../client/random-id.ts';
import { exactSpan } from '../parts/format.ts';
import { actionOf, type Intent, VERBS } from './intents.ts';
import { partWords, type ReadPart } from './part.ts';
import type { Receipt } from './state.ts';

export interface ChangeForm {
  readonly intent: Intent;
  readonly categories: readonly string[];
  /** `undefined` for a change without an end. */
  readonly seconds: number | undefined;
  readonly reason: string;
  readonly budget: ControlBudget | undefined;
  /** For an `enable` that is for some work or some lines alone. */
  readonly part?: ReadPart;
  /** An `enable` that writes nothing. @default false */
  readonly record?: boolean;
}

export function commandOf({
  intent,
  categories,
  seconds,
  reason,
  budget,
  part = {},
  record = false,
}: ChangeForm): ControlCommand {
  const said = reason.trim() === '' ? {} : { reason: reason.trim() };
  const action = actionOf(intent);
  if (action === 'reset') {
    return { action, categories, options: intent === 'end' ? { otelrdcp_only: 'temporary', ...said } : said };
  }
  const forGood = record ? { otelrdcp_permanent: true as const } : { temporary: false };
  const time = seconds === undefined ? forGood : { temporary: true, duration: seconds };
  const limits = action === 'disable' || seconds === undefined || record ? {} : { budget };
  const only = { ...controlOptionsOf({ ...part, ...limits }), ...(record && { otelrdcp_record: record }) };
  return { action, categories, options: { ...time, ...said, ...only } };
}

/** What the button of a change says that it does: `Enable for user.id=42 for 15 min`, `Record failures for 1 d`. */
export function buttonText(
  { intent, seconds, part = {}, record }: ChangeForm,
  whom: { readonly tenant: string | undefined; readonly everybody: string; readonly noEnd: boolean },
): string {
  const { when, ...rest } = part;
  const verb = when === undefined ? (record ? 'Record' : VERBS[intent]) : `Record ${whenText(when)}`;
  const limits = [whom.tenant, partWords(rest)].filter(Boolean).join(', ');
  const target = limits === '' ? when === undefined && whom.everybody : `for ${limits}`;
  const time = whom.noEnd ? 'permanently …' : seconds !== undefined && `for ${exactSpan(seconds)}`;
  return [verb, target, time].filter(Boolean).join(' ');
}

/** The answer to a change in words: what is so now, for whom, and where. */
export function receiptOf(response: ControlResponse, whom: string, processName = (id: string) => id) {
  const { action, status, changes, message, categories, otelrdcp_activation: activation } = response;
  const { otelrdcp_fleet: fleet, otelrdcp_shared: shared, otelrdcp_tenantKnown: known } = response;
  const parts = [true, false].flatMap((on) => {
    const names = changes.filter(({ newState }) => newState === on).map(({ category }) => category);
    return names.length === 0 ? [] : [`${on ? 'On' : 'Off'}${whom && ` ${whom}`}: ${nameSome(names, { most: 3 })}`];
  });
  if (activation !== undefined && action === 'enable') {
    const part = partText(activation);
    const state = activation.when
      ? `Recording ${part}`
      : `${activation.record ? 'Recorded' : 'On'}${part && ` for ${part}`}`;
    parts.push(`${state}: ${nameSome(categories, { most: 3 })}`);
  }
  const some = fleet !== undefined && (fleet.instances > 1 || fleet.pending.length > 0);
  const applied = some ? `${capitalized(progressText(fleet, processName))}.` : '';
  const reach = shared === false ? `${capitalized(NOT_SHARED)}.` : applied;
  const unknown = known === false ? 'Unknown tenant. ' : '';
  const whole = status === 'success';
  const stays = staysOff(response);
  const off = stays === undefined ? '' : `${stays.text}. `;
  return {
    tone: status === 'failed' ? 'error' : whole && !unknown ? 'good' : 'warning',
    title: `${unknown}${whole ? '' : status === 'failed' ? 'Failed. ' : 'Partial. '}${parts.join('. ') || message}`,
    detail: `${off}${whole || fleet ? reach : message}`,
  } satisfies Omit<Receipt, 'id'>;
}

/** How many processes have applied a change, and which have not. */
export function progressText(fleet: FleetSummary, processName: (id: string) => string): string {
  const { pending, lastSeen = {} } = fleet;
  const names = pending.map((id) => {
    const at = lastSeen[id];
    return at === undefined ? processName(id) : silentText(processName(id), at);
  });
  return appliedText(fleet, names);
}

/**
 * The change that takes another one back; `undefined` where there is none.
 * @param before its categories as they were, `undefined` where that is not known
 * @param now milliseconds since the epoch
 */
export function undoOf(
  { intent, categories, seconds }: ChangeForm,
  { otelrdcp_activation: activation, status }: ControlResponse,
  before: readonly DiscoveredCategory[] | undefined,
  now: number,
): ControlCommand | undefined {
  if (status !== 'success') return undefined;
  const reason = 'undone';
  if (activation !== undefined) {
    return intent === 'enable'
      ? { action: 'disable', categories, options: { otelrdcp_id: activation.id, reason } }
      : undefined;
  }
  if (before === undefined) return undefined;
  if (intent === 'enable' && seconds !== undefined && before.every(({ temporary }) => !temporary)) {
    return { action: 'reset', categories, options: { otelrdcp_only: 'temporary', reason } };
  }
  if (intent === 'enable' && before.every(({ otelrdcp_origin: origin }) => origin === 'default')) {
    return { action: 'reset', categories, options: { reason } };
  }
  const [only, another] = before;
  const left = Math.floor((Date.parse(only?.otelrdcp_expiresAt ?? '') - now) / 1000);
  if (intent === 'end' && another === undefined && only?.enabled === true && left > 0) {
    return { action: 'enable', categories, options: { temporary: true, duration: left, reason } };
  }
  return undefined;
}

/** Gives each change an id, and the same id when it is sent again unchanged, so that it takes effect once. */
export class RequestIds {
  #last: { readonly change: string; readonly id: string } | undefined;

  of(change: string): string {
    if (this.#last?.change !== change) this.#last = { change, id: randomId() };
    return this.#last.id;
  }
}

/** Reads a time as it is typed. @returns seconds, or what is wrong with it */
export function readDuration(text: string, maxSeconds: number): number | string {
  const seconds = parseDuration(text.trim().toLowerCase().replace(/\s/g, ''));
  if (seconds === undefined) return 'Write a time with its unit: 45s, 15m, 2h or 1d';
  return seconds > maxSeconds ? `At most ${formatDuration(maxSeconds)}` : seconds;
}
