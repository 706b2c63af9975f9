import type { AlertNotification } from '../../wire/alert-notification.ts';
import { allowing } from '../../wire/names.ts';
import { escapeUnprintable } from '../../wire/printable.ts';
import type { Match } from '../../wire/target.ts';

export interface Notice {
  readonly state: 'firing' | 'resolved';
  /** When the first of the alerts began to fire; milliseconds since the epoch. */
  readonly since: number;
  /** The alert, for the trail. */
  readonly subject: string;
}

/** Longest description of an alert, in characters. */
const MAX_SUBJECT = 400;

/** @returns `undefined` if no alert has the labels, or if those that have them may be among the ones that were cut off */
export function noticeOf(match: Match, { status, alerts, truncatedAlerts = 0 }: AlertNotification): Notice | undefined {
  const conditions = Object.entries(match).map(([name, value]) => ({ name, allows: allowing(value) }));
  const matching = alerts.filter(({ labels }) =>
    conditions.every(({ name, allows }) => Object.hasOwn(labels, name) && allows(labels[name] ?? '')),
  );
  const firing = matching.filter((alert) => alert.status === 'firing');
  if (firing.length === 0 && status === 'firing' && truncatedAlerts > 0) return undefined;
  const [first] = (firing.length > 0 ? firing : matching)
    .map((alert) => ({ alert, since: Date.parse(alert.startsAt) }))
    .sort((a, b) => a.since - b.since);
  return (
    first && {
      state: firing.length > 0 ? 'firing' : 'resolved',
      since: first.since,
      subject: subjectOf(first.alert),
    }
  );
}

/** Such as `c6eadffa33fcdf37 alertname=HighErrorRate job=shop`, bounded and on one line. */
function subjectOf({ fingerprint = '', labels }: AlertNotification['alerts'][number]): string {
  let text = fingerprint.slice(0, MAX_SUBJECT);
  for (const [name, value] of Object.entries(labels)) {
    if (text.length >= MAX_SUBJECT) break;
    text += ` ${name.slice(0, MAX_SUBJECT)}=${value.slice(0, MAX_SUBJECT)}`;
  }
  return escapeUnprintable(text).slice(0, MAX_SUBJECT).toWellFormed();
}
