import { type Timestamp, timestamp } from '../../wire/time.ts';
import type { Terminal } from './terminal.ts';

/** In the zone of this machine, marked by its offset: `2026-01-31T15:05:12.345+01:00`, and `…Z` where that is UTC. */
export function localTime(at: Timestamp): string {
  const minutes = -new Date(at).getTimezoneOffset();
  // Another implementation may send a time that is none.
  if (minutes === 0 || Number.isNaN(minutes)) return at;
  const local = new Date(Date.parse(at) + minutes * 60_000).toISOString().slice(0, -1);
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60].map((n) =>
    String(n).padStart(2, '0'),
  );
  return `${local}${minutes < 0 ? '-' : '+'}${hours}:${rest}`;
}

/** The same to the second, with the date on another day than now: `15:05:12+01`, `2026-01-31 15:05:12+05:30`. */
export function localClock(at: Timestamp, now: number): string {
  const [date = '', time] = localTime(at).replace(/\.\d+/, '').replace(/:00$/, '').split('T');
  if (time === undefined) return date;
  return localTime(timestamp(now)).startsWith(date) ? time : `${date} ${time}`;
}

/** For a table: the clock on a terminal, the whole time elsewhere, where tables are kept and sorted. */
export function timeCell({ screen, now }: Pick<Terminal, 'screen' | 'now'>, at: Timestamp): string {
  return screen.isTTY === true ? localClock(at, now()) : localTime(at);
}

/** A text of the service, with its times in the zone of this machine. */
export function inLocalTime(text: string, now: number): string {
  return text.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, (at) => localClock(at, now));
}
