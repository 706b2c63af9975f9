import type { NotifyEvent } from '../../options/options.ts';
import type { AuditAction, AuditedActivation } from '../../wire/audit-messages.ts';
import type { ChangeRecord } from '../../wire/messages.ts';
import { escapeUnprintable, nameSome } from '../../wire/printable.ts';
import { timestamp } from '../../wire/time.ts';
import { partText } from '../../wire/words/activation.ts';
import { byText, ENDED, madeText, whoText } from '../../wire/words/change.ts';
import { between } from '../../wire/words/time.ts';
import type { RecordedEntry } from '../types.ts';
import type { FailureReport } from './failures.ts';
import type { Loss } from './webhook.ts';

export interface EventSource {
  readonly service: string;
  readonly version?: string;
  readonly host: string;
  readonly pid: number;
}

type EntryEvent = Exclude<NotifyEvent, 'failure.recorded'>;

/** The event of each action, unless it was refused. Actions without a kind are housekeeping, and are not sent. */
const KINDS: Record<AuditAction, EntryEvent | undefined> = {
  enable: 'change',
  disable: 'change',
  toggle: 'change',
  reset: 'change',
  reconcile: 'change',
  status: undefined,
  expire: 'expiry',
  authenticate: undefined,
  authorize: undefined,
  prune: undefined,
  state_reset: 'loss',
  'token.issue': undefined,
  'token.refresh': undefined,
  'token.revoke': undefined,
  'token.reuse': undefined,
  'credentials.reload': 'credentials',
  forecast: undefined,
  tail: undefined,
  approval: 'refusal',
  sign: undefined,
};

export function eventOf({ action, outcome, reason }: RecordedEntry): EntryEvent | undefined {
  if (outcome === 'denied') return 'refusal';
  const kind = KINDS[action];
  if (outcome === 'failed' && kind === 'change') return 'refusal';
  return kind === 'expiry' && reason === 'budget' ? 'budget' : kind;
}

export type Notification =
  | { readonly event: EntryEvent; readonly entry: RecordedEntry }
  | { readonly event: 'failure.recorded'; readonly report: FailureReport }
  /** Stands for notifications that were dropped because too many waited. */
  | { readonly event: 'dropped'; readonly loss: Loss };

export type Format = (notification: Notification, by: { readonly source: EventSource; readonly now: number }) => string;

/** The body that Standard Webhooks describes: type, time and data, which of an entry are as the audit endpoint shows it. */
export const standardBody: Format = (notification, { source, now }) => {
  const type = `rdcp.${notification.event}`;
  if ('entry' in notification) {
    const { entry } = notification;
    return JSON.stringify({ type, timestamp: entry.timestamp, source, data: entry });
  }
  const { since, ...about } = 'report' in notification ? notification.report : notification.loss;
  return JSON.stringify({ type, timestamp: timestamp(now), source, data: { ...about, since: timestamp(since) } });
};

const MAX_NAMES = 20;

const SENTENCES: Record<EntryEvent, (entry: RecordedEntry) => string> = {
  change: (entry) => `${changes(entry)}${forTenant(entry)}${by(entry)}${alone(entry)}${because(entry)}`,
  expiry: (entry) => `${states(entry, ' again')}${forTenant(entry)}, ${ENDED.time}`,
  budget: (entry) => `${states(entry, ' again')}${forTenant(entry)}, ${ENDED.budget}`,
  refusal: (entry) => `${refused(entry)}${forTenant(entry)}${because(entry)}`,
  loss: (entry) => `the store has lost changes${because(entry)}${entry.changes.length > 0 ? `; ${states(entry)}` : ''}`,
  credentials: ({ reason = 'credentials changed' }) => reason,
};

/** One line of text, in the body that Slack's incoming webhooks take and other chats understand. */
export const slackBody: Format = (notification, { source: { service, host } }) =>
  JSON.stringify({ text: escaped(`${service} on ${host}: ${sentence(notification)}`) });

function sentence(notification: Notification): string {
  if ('entry' in notification) return SENTENCES[notification.event](notification.entry);
  if ('report' in notification) return failureSentence(notification.report);
  const { count, since } = notification.loss;
  const were = count === 1 ? '1 notification was' : `${count} notifications were`;
  return `${were} dropped since ${timestamp(since)}, see the audit trail`;
}

function failureSentence({ category, failures, lines, outcome, traceId, traceUrl }: FailureReport): string {
  const pieces = failures === 1 ? '1 failure' : `${failures} failures`;
  const trace = traceUrl ?? (traceId === undefined ? '' : `trace ${traceId}`);
  return `${lines} ${category} lines of ${pieces}, last ${outcome} ${trace}`.trimEnd();
}

/**
 * The three characters that Slack reads as markup, and the `@` that Mattermost, Rocket.Chat and Discord read: `<!channel>` or
 * `@everyone` in a reason would otherwise call everybody. A word joiner behind the `@` is not seen. Characters that turn or hide
 * text are escaped first.
 */
function escaped(text: string): string {
  return escapeUnprintable(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replace(/(?<![\p{L}\p{N}])@(?=[\p{L}\p{N}])/gu, '@\u2060');
}

function changes(entry: RecordedEntry): string {
  if (entry.otelrdcp_activation !== undefined) return states(entry);
  if (entry.changes.length === 0)
    return `${entry.action} of ${nameSome(entry.categories, { most: MAX_NAMES })} changed nothing`;
  return entry.action === 'reset'
    ? `${nameSome(entry.categories, { most: MAX_NAMES })} back to default`
    : states(entry);
}

/** Such as `CACHE, DATABASE on for 5m; HTTP off; NOISY quiet below warn for 1h`, `ORDERS recorded for 7d`. */
function states({ changes: all, otelrdcp_activation: activation, ...entry }: RecordedEntry, after = ''): string {
  if (activation !== undefined) return activationState(entry, activation);
  return byText(all, (change) => `${madeText(change)}${after}${lasting(change)}`, MAX_NAMES).join('; ');
}

function activationState(
  { action, categories, timestamp: at }: Pick<RecordedEntry, 'action' | 'categories' | 'timestamp'>,
  activation: AuditedActivation,
): string {
  const begins = action === 'enable';
  const state = activation.record ? (begins ? 'recorded' : 'not recorded any more') : begins ? 'on' : 'off again';
  const part = partText(activation);
  const time = begins ? lasting({ temporary: true, effectiveAt: at, ...activation }) : '';
  return `${nameSome(categories, { most: MAX_NAMES })} ${state}${part && ` for ${part}`}${time}`;
}

function lasting({
  temporary,
  effectiveAt,
  expiresAt,
}: Pick<ChangeRecord, 'temporary' | 'effectiveAt' | 'expiresAt'>): string {
  return temporary && expiresAt !== undefined ? ` for ${between(effectiveAt, expiresAt)}` : '';
}

function forTenant({ tenant }: RecordedEntry): string {
  return tenant === undefined ? '' : ` for tenant ${tenant.id}`;
}

function by({ identity }: RecordedEntry): string {
  const who = whoText(identity);
  return who === undefined ? '' : ` by ${who}`;
}

function alone({ outcome }: RecordedEntry): string {
  return outcome === 'partial' ? ', in one process alone until the store is available' : '';
}

function because({ reason }: RecordedEntry): string {
  return reason === undefined ? '' : `: ${reason}`;
}

function refused(entry: RecordedEntry): string {
  const { action, error, source, count = 1 } = entry;
  const from = source?.address === undefined ? '' : ` from ${source.address}`;
  const code = error === undefined ? '' : ` (${error})`;
  return `${count === 1 ? 'a request was' : `${count} requests were`} refused: ${action}${by(entry)}${from}${code}`;
}
