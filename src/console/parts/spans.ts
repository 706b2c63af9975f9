import { formatDuration } from '../../protocol/time.ts';
import { two } from './times.ts';

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
