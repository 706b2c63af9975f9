import type { ComponentChildren, JSX } from 'preact';
import { clockTime } from '../../../wire/words/time.ts';
import type { Buckets } from './buckets.ts';

interface BarsProps extends Omit<JSX.IntrinsicElements['svg'], 'from' | 'to'> {
  readonly of: Buckets;
  readonly children?: ComponentChildren;
}

/** A bar for each part of a time, and where the time begins and ends. A list beside it says the same in words. */
export function Bars({ of: { from, to, counts }, children, ...svg }: BarsProps) {
  const most = Math.max(1, ...counts);
  const bars = counts.map((count, at) =>
    count === 0 ? '' : `M${at + 0.1} 100V${100 - Math.max(4, (count / most) * 100)}h.8V100z`,
  );
  return (
    <div class="histogram" aria-hidden="true">
      {/* biome-ignore lint/a11y/noSvgWithoutTitle: each part has its own, for the pointer; readers of the screen have the list */}
      <svg {...svg} viewBox={`0 0 ${Math.max(1, counts.length)} 100`} preserveAspectRatio="none">
        {counts.map((count, at) => (
          <rect x={at} width="1" height="100" class="part">
            <title>{`${count} from ${clockTime(from + (at / counts.length) * (to - from))}`}</title>
          </rect>
        ))}
        <path d={bars.join('')} />
        {children}
      </svg>
      <div class="bar tight axis">
        <span>{counts.length > 0 && clockTime(from)}</span>
        <span>{counts.length > 0 && clockTime(to)}</span>
      </div>
    </div>
  );
}
