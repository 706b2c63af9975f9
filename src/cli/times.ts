import { formatDuration, parseDuration, type Timestamp } from '../protocol/time.ts';
import { text, UsageError, type Values } from './command.ts';

/** Time left until a timestamp in its two largest units, such as `4m 59s` or `23h 10m`. */
export function remaining(until: Timestamp, now: number): string {
  const seconds = Math.max(0, Math.ceil((Date.parse(until) - now) / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes}m ${seconds % 60}s` : `${Math.floor(minutes / 60)}h ${minutes % 60}m`;
}

/** The time between two timestamps, such as `15m`. */
export function between(from: Timestamp, until: Timestamp): string {
  return formatDuration(Math.max(0, Math.round((Date.parse(until) - Date.parse(from)) / 1000)));
}

/** Local time of the operator, such as `14:05:12`, with the date on another day. */
export function clockTime(at: Timestamp, now: number): string {
  const [date, today] = [new Date(at), new Date(now)];
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':');
  if (date.toDateString() === today.toDateString()) return time;
  return `${[date.getFullYear(), date.getMonth() + 1, date.getDate()].map(twoDigits).join('-')} ${time}`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}

/** @throws {UsageError} for anything but a duration */
export function duration(values: Values, name: string): string | undefined {
  const given = text(values, name);
  if (given === undefined || parseDuration(given) !== undefined) return given;
  throw new UsageError(`--${name} must be a duration such as 30s, 5m or 2h`);
}
