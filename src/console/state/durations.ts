const UNITS = { d: 86_400, h: 3600, m: 60, s: 1 } as const;
const PART = /(\d{1,9})\s*([dhms])/gy;

export type ReadDuration = { readonly seconds: number } | { readonly problem: string };

/** Reads a time as somebody types it: `15m`, `1h 30m`, `90s`. */
export function readDuration(text: string, maxSeconds: number): ReadDuration {
  const given = text.trim().toLowerCase();
  if (given === '') return { problem: 'Say how long, such as 15m or 1h' };
  if (/^\d+$/.test(given)) return { problem: `Say the unit too: ${given}s, ${given}m, ${given}h or ${given}d` };
  const seconds = secondsOf(given);
  if (seconds === undefined) return { problem: 'Write a time such as 45s, 15m, 1h 30m or 2d' };
  if (seconds === 0) return { problem: 'The time must be longer than 0' };
  if (seconds > maxSeconds) return { problem: `At most ${shortDuration(maxSeconds)} is allowed here` };
  return { seconds };
}

function secondsOf(text: string): number | undefined {
  let seconds = 0;
  let end = 0;
  for (const match of text.replaceAll(/\s+/g, '').matchAll(PART)) {
    seconds += Number(match[1]) * UNITS[match[2] as keyof typeof UNITS];
    end += match[0].length;
  }
  return end === text.replaceAll(/\s+/g, '').length ? seconds : undefined;
}

/** Such as `1h 30m`. */
export function shortDuration(seconds: number): string {
  let rest = Math.round(seconds);
  const parts = Object.entries(UNITS).flatMap(([unit, size]) => {
    const count = Math.floor(rest / size);
    rest -= count * size;
    return count === 0 ? [] : [`${count}${unit}`];
  });
  return parts.length === 0 ? '0s' : parts.slice(0, 2).join(' ');
}

/** A clock that runs down: `14:59`, `1:02:03`, and beyond a day `2d 3h`. */
export function timeLeft(milliseconds: number): string {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000));
  if (seconds >= UNITS.d) return shortDuration(seconds - (seconds % UNITS.h));
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  const minutes = seconds / 60;
  if (seconds >= UNITS.h) return `${Math.floor(seconds / UNITS.h)}:${two(minutes % 60)}:${two(seconds % 60)}`;
  return `${Math.floor(minutes)}:${two(seconds % 60)}`;
}
