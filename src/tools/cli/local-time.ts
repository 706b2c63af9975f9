import type { Timestamp } from '../../wire/time.ts';

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
