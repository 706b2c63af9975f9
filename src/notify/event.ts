import type { RecordedEntry } from '../audit/types.ts';
import type { NotifyEvent } from '../options/notify.ts';
import type { AuditAction } from '../protocol/audit-messages.ts';

/** The process that recorded an event. */
export interface EventSource {
  readonly service: string;
  readonly version?: string;
  readonly host: string;
  readonly pid: number;
}

/** What an entry is about unless it is a refusal. Actions without a kind are housekeeping, and are not sent. */
const KINDS: Record<AuditAction, NotifyEvent | undefined> = {
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
};

/** Returns what an entry is about; `undefined` for housekeeping. */
export function eventOf({ action, outcome, reason }: RecordedEntry): NotifyEvent | undefined {
  if (outcome === 'denied') return 'refusal';
  const kind = KINDS[action];
  if (outcome === 'failed' && kind === 'change') return 'refusal';
  return kind === 'expiry' && reason === 'budget' ? 'budget' : kind;
}

/** The body that Standard Webhooks describes: type, time, and the entry as the audit endpoint shows it. */
export function standardBody(event: NotifyEvent, entry: RecordedEntry, source: EventSource): string {
  return JSON.stringify({ type: `rdcp.${event}`, timestamp: entry.timestamp, source, data: entry });
}
