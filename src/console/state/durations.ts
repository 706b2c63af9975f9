import { formatDuration, parseDuration } from '../../protocol/time.ts';

/** Reads a time as somebody types it. The other value says what is wrong with it. */
export function readDuration(text: string, maxSeconds: number): number | string {
  const seconds = parseDuration(text.trim().toLowerCase().replace(/\s/g, ''));
  if (seconds === undefined) return 'Write a time with its unit: 45s, 15m, 2h or 1d';
  return seconds > maxSeconds ? `At most ${formatDuration(maxSeconds)}` : seconds;
}
