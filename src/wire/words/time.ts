import { formatDuration, type Timestamp } from '../time.ts';

/** Time left until a timestamp in its two largest units, such as `4m 59s`, `23h 10m` or `6d 23h`. */
export function remaining(until: Timestamp, now: number): string {
  const seconds = Math.max(0, Math.ceil((Date.parse(until) - now) / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (hours >= 48) return `${Math.floor(hours / 24)}d ${hours % 24}h`;
  return hours === 0 ? `${minutes}m ${seconds % 60}s` : `${hours}h ${minutes % 60}m`;
}

/** The time between two timestamps, such as `15m`. */
export function between(from: Timestamp, until: Timestamp): string {
  return formatDuration(Math.max(0, Math.round((Date.parse(until) - Date.parse(from)) / 1000)));
}

/** Local time of the operator, such as `14:05:12`, with the date on another day. */
export function clockTime(at: Timestamp | number, now = Date.now()): string {
  // Swedish writes a time as ISO 8601 does: 2026-01-31 14:05:12.
  const [date = '', time = ''] = new Date(at).toLocaleString('sv').split(' ');
  return date === new Date(now).toLocaleDateString('sv') ? time : `${date} ${time}`;
}
