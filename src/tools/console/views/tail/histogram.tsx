import { useMemo, useState } from 'preact/hooks';
import { now } from '../../page.ts';
import { exactTime } from '../../parts/format.ts';
import { Bars } from '../../parts/pictures.tsx';
import { bucketsOf } from '../../parts/scale.ts';
import type { Row } from './row.ts';

interface HistogramProps {
  readonly rows: readonly Row[];
  /** Draws again at once when it is another one; while lines arrive, once a second. */
  readonly filter: unknown;
  /** Asked to show the lines of a time alone. */
  readonly onBrush: (from: string, to: string) => void;
}

/** How many lines there were over the time of the tail. Dragging across it chooses a time. */
export function Histogram({ rows, filter, onBrush }: HistogramProps) {
  const buckets = useMemo(
    () => bucketsOf(rows.flatMap((row) => (row.kind === 'line' ? row.at : []))),
    [filter, now.value, rows.length === 0],
  );
  const { from, to, counts } = buckets;
  const [brush, setBrush] = useState<readonly [number, number]>();
  const shareAt = ({ clientX, currentTarget }: PointerEvent & { readonly currentTarget: Element }) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return Math.min(1, Math.max(0, (clientX - left) / width));
  };
  const finish = () => {
    const [first = 0, last = 0] = (brush ?? []).toSorted((a, b) => a - b);
    setBrush(undefined);
    if (last - first < 0.01) return;
    const timeAt = (share: number) => exactTime(new Date(from + share * (to - from)));
    onBrush(timeAt(first), timeAt(last));
  };
  return (
    <Bars
      of={buckets}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        setBrush([shareAt(event), shareAt(event)]);
      }}
      onPointerMove={(event) => brush && setBrush([brush[0], shareAt(event)])}
      onPointerUp={finish}
      onPointerCancel={() => setBrush(undefined)}
    >
      {brush && (
        <rect
          x={Math.min(...brush) * counts.length}
          width={Math.abs(brush[1] - brush[0]) * counts.length}
          height="100"
          fill="var(--accent)"
          opacity="0.25"
        />
      )}
    </Bars>
  );
}
