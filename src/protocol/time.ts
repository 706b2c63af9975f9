/** A Timestamp of RDCP 1.0: RFC 3339, UTC, milliseconds, suffix `Z`. */
export type Timestamp = string;

/** The last instant that has a Timestamp, in milliseconds since the epoch. */
export const LATEST_INSTANT = 253_402_300_799_999;

const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const DURATION = /^(\d{1,15})([smhd])$/;
const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400 } as const;

export function timestamp(epochMs: number): Timestamp {
  if (latest.epochMs === epochMs) return latest.text;
  [latest, before] = [before, latest];
  if (latest.epochMs !== epochMs) latest = { epochMs, text: new Date(epochMs).toISOString() };
  return latest.text;
}

interface Written {
  readonly epochMs: number;
  readonly text: Timestamp;
}

/** Writing a time takes as long as several steps of a request, which names the same two again and again: now, and an end. */
let latest: Written = { epochMs: Number.NaN, text: '' };
let before = latest;

/** Milliseconds since the epoch, or `undefined` for anything but a Timestamp that names a real instant. */
export function parseTimestamp(value: string): number | undefined {
  if (!TIMESTAMP.test(value)) return undefined;
  const epochMs = Date.parse(value);
  // Date.parse rolls some impossible dates over (30 February); what does not print back as it was is refused.
  return Number.isNaN(epochMs) || new Date(epochMs).toISOString() !== value ? undefined : epochMs;
}

/**
 * Whole seconds of a Duration: a positive integer, or `<n>s|m|h|d`. `undefined` for anything else. A count of digits
 * too long to be a safe integer is refused by the pattern, so that no value is silently rounded.
 */
export function parseDuration(value: unknown): number | undefined {
  const seconds = typeof value === 'string' ? secondsOf(value) : value;
  return typeof seconds === 'number' && Number.isSafeInteger(seconds) && seconds > 0 ? seconds : undefined;
}

function secondsOf(value: string): number | undefined {
  const match = DURATION.exec(value);
  return match === null ? undefined : Number(match[1]) * SECONDS[match[2] as keyof typeof SECONDS];
}

/** The string form in the largest unit that divides it: 900 is `15m`, 86400 is `1d`. */
export function formatDuration(seconds: number): string {
  for (const unit of ['d', 'h', 'm'] as const) {
    if (seconds % SECONDS[unit] === 0) return `${seconds / SECONDS[unit]}${unit}`;
  }
  return `${seconds}s`;
}
