import type { Timestamp } from '../protocol/time.ts';

/** How long until an instant, to read at a glance: `4m 59s`, `23h 10m`. */
export function remaining(until: Timestamp, now: number): string {
  const seconds = Math.max(0, Math.ceil((Date.parse(until) - now) / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes}m ${seconds % 60}s` : `${Math.floor(minutes / 60)}h ${minutes % 60}m`;
}
