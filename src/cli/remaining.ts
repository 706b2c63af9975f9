import type { Timestamp } from '../protocol/time.ts';

/** Time left until a timestamp in its two largest units, such as `4m 59s` or `23h 10m`. */
export function remaining(until: Timestamp, now: number): string {
  const seconds = Math.max(0, Math.ceil((Date.parse(until) - now) / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes}m ${seconds % 60}s` : `${Math.floor(minutes / 60)}h ${minutes % 60}m`;
}
