import type { NotifyEvent } from '../../options/notify.ts';
import type { AuditAction } from '../../wire/audit-messages.ts';
import { timestamp } from '../../wire/time.ts';
import type { RecordedEntry } from '../types.ts';
import type { FailureReport } from './failures.ts';
import type { Loss } from './webhook.ts';

/** The process that recorded an event. */
export interface EventSource {
  readonly service: string;
  readonly version?: string;
  readonly host: string;
  readonly pid: number;
}

/** The events that entries of the audit trail are. */
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

/** The event that an entry is about; `undefined` for housekeeping. */
export function eventOf({ action, outcome, reason }: RecordedEntry): EntryEvent | undefined {
  if (outcome === 'denied') return 'refusal';
  const kind = KINDS[action];
  if (outcome === 'failed' && kind === 'change') return 'refusal';
  return kind === 'expiry' && reason === 'budget' ? 'budget' : kind;
}

/** The body that Standard Webhooks describes: type, time, and the entry as the audit endpoint shows it. */
export function standardBody(event: EntryEvent, entry: RecordedEntry, source: EventSource): string {
  return JSON.stringify({ type: `rdcp.${event}`, timestamp: entry.timestamp, source, data: entry });
}

export function standardFailure({ since, ...report }: FailureReport, now: number, source: EventSource): string {
  const data = { ...report, since: timestamp(since) };
  return JSON.stringify({ type: 'rdcp.failure.recorded', timestamp: timestamp(now), source, data });
}

/** The event that stands for those that were dropped because too many waited. */
export function standardLoss({ count, since }: Loss, now: number, source: EventSource): string {
  const data = { count, since: timestamp(since) };
  return JSON.stringify({ type: 'rdcp.dropped', timestamp: timestamp(now), source, data });
}
