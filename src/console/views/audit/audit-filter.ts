import type { AuditFilter } from '../../../client.ts';
import { AUDIT_ACTIONS } from '../../../protocol/constants.ts';
import type { AuditAction, AuditEntry, AuditOutcome } from '../../../protocol/messages.ts';
import { isCategoryName } from '../../../protocol/names.ts';

export const OUTCOMES = ['success', 'partial', 'failed', 'denied'] as const satisfies readonly AuditOutcome[];
export const ACTIONS: readonly AuditAction[] = AUDIT_ACTIONS;

/** What the reader looks for, as it stands in the address. */
export interface Wanted {
  readonly category?: string;
  readonly action?: AuditAction;
  readonly outcome?: AuditOutcome;
  /** In the browser's zone, as `datetime-local` has it: `2026-01-31T12:30`. */
  readonly since?: string;
  readonly until?: string;
  /** A part of the user or the client. */
  readonly who?: string;
  /** A part of anything in the entry. */
  readonly text?: string;
}

/** What cannot be meant is left out. */
export function wantedOf(query: URLSearchParams): Wanted {
  const value = (name: keyof Wanted) => query.get(name)?.trim() || undefined;
  const category = value('category')?.toUpperCase();
  const action = ACTIONS.find((each) => each === value('action'));
  const outcome = OUTCOMES.find((each) => each === value('outcome'));
  const [since, until] = [value('since'), value('until')].map((time) =>
    timeOf(time) === undefined ? undefined : time,
  );
  const [who, text] = [value('who'), value('text')];
  return {
    ...(category !== undefined && isCategoryName(category) && { category }),
    ...(action && { action }),
    ...(outcome && { outcome }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(who !== undefined && { who }),
    ...(text !== undefined && { text }),
  };
}

/** The part that the server filters by. */
export function serverFilter({ category, action, outcome, since, until }: Wanted): AuditFilter {
  const [from, to] = [timeOf(since), timeOf(until)];
  return {
    ...(category !== undefined && { category }),
    ...(action && { action }),
    ...(outcome && { outcome }),
    ...(from && { since: from }),
    ...(to && { until: to }),
  };
}

/** Whether the page looks through the loaded entries by itself. */
export function filtersHere({ who, text }: Wanted): boolean {
  return who !== undefined || text !== undefined;
}

/** Whether an entry is wanted. Those of the event stream come unfiltered. */
export function isWanted(wanted: Wanted): (entry: AuditEntry) => boolean {
  const { category, action, outcome, since, until } = wanted;
  const [from, to] = [timeOf(since)?.getTime(), timeOf(until)?.getTime()];
  const who = wanted.who?.toLowerCase();
  const text = wanted.text?.toLowerCase();
  return (entry) => {
    const at = Date.parse(entry.timestamp);
    return (
      (category === undefined || entry.categories.includes(category)) &&
      (action === undefined || entry.action === action) &&
      (outcome === undefined || entry.outcome === outcome) &&
      (from === undefined || at >= from) &&
      (to === undefined || at < to) &&
      (who === undefined || `${entry.identity.userId} ${entry.identity.clientId}`.toLowerCase().includes(who)) &&
      (text === undefined || JSON.stringify(entry).toLowerCase().includes(text))
    );
  };
}

function timeOf(local: string | undefined): Date | undefined {
  if (local === undefined || !/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?$/.test(local)) return undefined;
  const time = new Date(local);
  return Number.isNaN(time.getTime()) ? undefined : time;
}
