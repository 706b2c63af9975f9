/** A Timestamp of RDCP 1.0: RFC 3339, UTC, milliseconds, suffix `Z`. */
export type Timestamp = string;

/** The latest instant that a Timestamp can express, in milliseconds since the epoch. */
export const LATEST_INSTANT = 253_402_300_799_999;

const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const DURATION = /^(\d{1,15})([smhd])$/;
const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400 } as const;

/** Durations as JSON Schema. */
export const DURATION_SCHEMA = {
  anyOf: [
    { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    { type: 'string', pattern: '^0*[1-9][0-9]{0,9}[smhd]$', maxLength: 16 },
  ],
};

export function timestamp(epochMs: number): Timestamp {
  return new Date(epochMs).toISOString();
}

/** Returns milliseconds since the epoch, or `undefined` for an invalid Timestamp. */
export function parseTimestamp(value: string): number | undefined {
  if (!TIMESTAMP.test(value)) return undefined;
  const epochMs = Date.parse(value);
  // Date.parse accepts some impossible dates, such as 30 February. A round trip detects them.
  return Number.isNaN(epochMs) || new Date(epochMs).toISOString() !== value ? undefined : epochMs;
}

/** Returns the seconds of a Duration (a positive integer, or `<n>s|m|h|d`), or `undefined` for anything else. */
export function parseDuration(value: unknown): number | undefined {
  const [, amount, unit = 's'] = (typeof value === 'string' && DURATION.exec(value)) || [];
  const seconds = typeof value === 'string' ? Number(amount) * SECONDS[unit as keyof typeof SECONDS] : value;
  return typeof seconds === 'number' && Number.isSafeInteger(seconds) && seconds > 0 ? seconds : undefined;
}

/** Formats seconds in the largest unit that divides them: 900 is `15m`, 86400 is `1d`. */
export function formatDuration(seconds: number): string {
  for (const unit of ['d', 'h', 'm'] as const) {
    if (seconds % SECONDS[unit] === 0) return `${seconds / SECONDS[unit]}${unit}`;
  }
  return `${seconds}s`;
}
