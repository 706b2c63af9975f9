import { useMemo, useRef, useState } from 'preact/hooks';
import { clockTime } from '../../../../wire/words/time.ts';
import { now } from '../../page.ts';
import { dayTime } from '../../parts/format.ts';
import type { Row } from './row.ts';

const BARS = 80;

interface HistogramProps {
  readonly rows: readonly Row[];
  /** Draws again at once when it is another one; while lines arrive, once a second. */
  readonly filter: unknown;
  /** Asked to show the lines of a time alone. */
  readonly onBrush: (from: string, to: string) => void;
}

/** How many lines there were over the time of the tail. Dragging across it chooses a time. The list says the same in words. */
export function Histogram({ rows, filter, onBrush }: HistogramProps) {
  const { from, to, counts } = useMemo(() => bucketsOf(rows), [filter, now.value, rows.length === 0]);
  const svg = useRef<SVGSVGElement>(null);
  const [brush, setBrush] = useState<readonly [number, number]>();
  const most = Math.max(1, ...counts);
  const shareAt = (event: PointerEvent) => {
    const { left, width } = svg.current?.getBoundingClientRect() ?? { left: 0, width: 1 };
    return Math.min(1, Math.max(0, (event.clientX - left) / width));
  };
  const finish = () => {
    const [first, last] = (brush ?? [0, 0]).toSorted((a, b) => a - b);
    setBrush(undefined);
    if (first === undefined || last === undefined || last - first < 0.01) return;
    onBrush(clockAt(from + first * (to - from)), clockAt(from + last * (to - from)));
  };
  return (
    <div class="histogram" aria-hidden="true">
      <svg
        ref={svg}
        viewBox={`0 0 ${BARS} 100`}
        preserveAspectRatio="none"
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setBrush([shareAt(event), shareAt(event)]);
        }}
        onPointerMove={(event) => brush && setBrush([brush[0], shareAt(event)])}
        onPointerUp={finish}
        onPointerCancel={() => setBrush(undefined)}
      >
        <title>Drag to show the lines of a time alone</title>
        <path
          d={counts
            .map((count, at) =>
              count === 0 ? '' : `M${at + 0.1} 100V${100 - Math.max(4, (count / most) * 100)}h.8V100z`,
            )
            .join('')}
        />
        {brush && (
          <rect
            x={Math.min(...brush) * BARS}
            width={Math.abs(brush[1] - brush[0]) * BARS}
            y="0"
            height="100"
            class="brush"
          />
        )}
      </svg>
      <div class="bar tight axis">
        <span>{counts.length > 0 && clockTime(from)}</span>
        <span>{counts.length > 0 && clockTime(to)}</span>
      </div>
    </div>
  );
}

function clockAt(at: number): string {
  const date = new Date(at);
  return `${dayTime(date)}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

/** Numbers of lines in equal parts of the time from the first to the last of them, which is at least a second. */
export function bucketsOf(rows: readonly Row[]): { from: number; to: number; counts: readonly number[] } {
  let from = Number.POSITIVE_INFINITY;
  let to = Number.NEGATIVE_INFINITY;
  for (const row of rows) {
    if (row.kind !== 'line' || Number.isNaN(row.at)) continue;
    if (row.at < from) from = row.at;
    if (row.at > to) to = row.at;
  }
  if (from > to) return { from: 0, to: 0, counts: [] };
  to = Math.max(to, from + 1000);
  const counts = new Array<number>(BARS).fill(0);
  for (const row of rows) {
    if (row.kind !== 'line' || Number.isNaN(row.at)) continue;
    const at = Math.min(BARS - 1, Math.floor(((row.at - from) / (to - from)) * BARS));
    counts[at] = (counts[at] ?? 0) + 1;
  }
  return { from, to, counts };
}
