/** What a picture shows from its left edge to its right one: times in milliseconds since the epoch, or amounts. */
export interface Scale {
  readonly from: number;
  readonly to: number;
}

/** Numbers of things in equal parts of a time. */
export interface Buckets extends Scale {
  readonly counts: readonly number[];
}

const MINUTE = 60_000;
const DAY = 1440 * MINUTE;
/** Steps that people count in, in milliseconds. */
const STEPS = [1, 10, 100, 500, 1000, 5000, 15_000, 60_000, 120_000, 300_000, 900_000, 3_600_000, 10_800_000];
const MOST_TICKS = 6;
const BARS = 80;

/** Counts times in equal parts: from the first one or `since`, to the last one or `until`, at least a second, in parts of `step` or 80. */
export function bucketsOf(
  times: readonly number[],
  { since, until, step }: { readonly since?: number; readonly until?: number; readonly step?: number } = {},
): Buckets {
  const known = times.filter((time) => !Number.isNaN(time));
  if (known.length === 0) return { from: 0, to: 0, counts: [] };
  const first = known.reduce((least, time) => Math.min(least, time), since ?? Number.POSITIVE_INFINITY);
  const last = known.reduce((most, time) => Math.max(most, time), Math.max(until ?? 0, first + 1000));
  const [from, to] =
    step === undefined ? [first, last] : [Math.floor(first / step) * step, (Math.floor(last / step) + 1) * step];
  const counts = new Array<number>(step === undefined ? BARS : (to - from) / step).fill(0);
  for (const time of known) {
    const at = Math.min(counts.length - 1, Math.floor(((time - from) / (to - from)) * counts.length));
    counts[at] = (counts[at] ?? 0) + 1;
  }
  return { from, to, counts };
}

/** A place on a scale, in percent. What lies beyond an edge is at the edge. */
export function placeOf(value: number, { from, to }: Scale): number {
  return to > from ? Math.min(100, Math.max(0, ((value - from) / (to - from)) * 100)) : 0;
}

/** Round times on a scale, in the browser's zone. */
export function ticksOf(scale: Scale): readonly (readonly [place: number, text: string])[] {
  const { from, to } = scale;
  const step =
    STEPS.find((each) => (to - from) / each <= MOST_TICKS) ?? Math.ceil((to - from) / (MOST_TICKS * DAY)) * DAY;
  const shift = new Date(from).getTimezoneOffset() * MINUTE;
  const first = Math.ceil((from - shift) / step) * step + shift;
  const length = to > from ? Math.floor((to - first) / step) + 1 : 0;
  return Array.from({ length }, (_, at) => {
    const time = first + at * step;
    const [date, clock = ''] = new Date(time).toLocaleString('sv').split(' ');
    return [placeOf(time, scale), step >= DAY ? `${date}` : step >= MINUTE ? clock.slice(0, 5) : clock] as const;
  });
}

/** The highest of some values; gaps are `NaN`. */
export function peakOf(values: ArrayLike<number>): number {
  return Array.from(values).reduce((peak, value) => (Number.isNaN(value) ? peak : Math.max(peak, value)), 0);
}

/** A path for an SVG `d`, in a box of `width` by `height`; gaps (`NaN`) interrupt it. Empty where nothing was seen. */
export function sparklinePath(rates: ArrayLike<number>, width: number, height: number, peak = peakOf(rates)): string {
  const values = Array.from(rates);
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  return values
    .map((value, at) => {
      if (Number.isNaN(value)) return '';
      const isGap = at === 0 || Number.isNaN(values[at - 1]);
      const y = peak === 0 ? height : height - (value / peak) * height;
      return `${isGap ? 'M' : 'L'}${short(at * step)} ${short(y)}`;
    })
    .join('');
}

/** A path of bars of a unit's width, in a box of 100 in height. */
export function barsPath(counts: ArrayLike<number>, peak: number, width = 0.8): string {
  return Array.from(counts, (count, at) =>
    count > 0
      ? `M${short(at + (1 - width) / 2)} 100V${short(100 - Math.max(4, (count / peak) * 100))}h${width}V100z`
      : '',
  ).join('');
}

function short(value: number): string {
  return String(Math.round(value * 10) / 10);
}
