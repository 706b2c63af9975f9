import { escapeUnprintable } from '../../../wire/printable.ts';
import { formatDuration } from '../../../wire/time.ts';

const COMPACT = new Intl.NumberFormat('en', { notation: 'compact' });

/** At most three digits, with the unit of thousands: `0.34`, `12`, `1.2K`, `3.4M`. */
export function shortNumber(value: number): string {
  return COMPACT.format(value);
}

const BYTES = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

export function shortBytes(bytes: number): string {
  let value = bytes;
  let at = 0;
  while (value >= 999.5 && at < BYTES.length - 1) {
    value /= 1000;
    at += 1;
  }
  return `${value >= 99.5 || at === 0 ? Math.round(value) : Number(value.toFixed(1))} ${BYTES[at]}`;
}

/** Such as `2026-11-22 11:49:13 UTC`. */
export function utcTime(date: Date): string {
  return `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** Hours, minutes, seconds and milliseconds in the browser's zone. */
export function exactTime(date: Date): string {
  const parts = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':');
  return `${parts}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

/** At least two digits. */
function two(value: number): string {
  return String(value).padStart(2, '0');
}

const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
] as const;

/** Time that has passed or is left, roughly: `3 min`. */
export function roughSpan(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  for (const [unit, size] of UNITS) if (seconds >= size) return `${Math.floor(seconds / size)} ${unit}`;
  return `${seconds} s`;
}

/** Such as `15 min`, exactly. */
export function exactSpan(seconds: number): string {
  return formatDuration(seconds).replace(/[a-z]/, (unit) => ` ${unit === 'm' ? 'min' : unit}`);
}

/** Such as `4:05`, or `1:00:00`. */
export function clockSpan(milliseconds: number): string {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const parts = hours > 0 ? [hours, two(minutes), two(seconds % 60)] : [minutes, two(seconds % 60)];
  return parts.join(':');
}

/** Shows characters that hide or turn text around as `\uXXXX`, and cuts what is longer than `most` characters. */
export function printable(value: string, most: number): { readonly text: string; readonly cut: boolean } {
  const cut = value.length > most;
  const text = escapeUnprintable(cut ? value.slice(0, most - 1) : value);
  return { text: cut ? `${text}…` : text, cut };
}
