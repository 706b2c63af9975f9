import type { NotifyEvent } from '../../options/notify.ts';
import type { AuditAction } from '../../wire/audit-messages.ts';
import { timestamp } from '../../wire/time.ts';
import type { RecordedEntry } from '../types.ts';
import type { FailureReport } from './failures.ts';
import type { Loss } from './webhook.ts';

export interface EventSource {
  readonly service: string;
  readonly version?: string;
  readonly host: string;
  readonly pid: number;
}

export type EntryEvent = Exclude<NotifyEvent, 'failure.recorded'>;

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
