import type { ComponentChildren, JSX } from 'preact';
import { clockTime } from '../../../wire/words/time.ts';
import { type Buckets, barsPath, peakOf, placeOf, type Scale, sparklinePath, ticksOf } from './scale.ts';
import { Table, type TableProps } from './tables.tsx';
import { Text } from './text.tsx';

// Pictures of times and amounts. What is drawn is hidden from readers of the screen, who get a table of the same.

interface PictureProps<T> extends TableProps<T> {
  /** Beside the title. */
  readonly beside?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** What is drawn, under its title, and the same as a table. */
export function Picture<T>({ beside, children, ...table }: PictureProps<T>) {
  return (
    <figure class="picture">
      <figcaption class="bar">
        <span aria-hidden="true">{table.label}</span> {beside}
      </figcaption>
      {children}
      <div class="visually-hidden">
        <Table {...table} />
      </div>
    </figure>
  );
}

/** Round times below a picture. */
function Axis({ scale }: { readonly scale: Scale }) {
  return (
    <svg class="axis" aria-hidden="true">
      {ticksOf(scale).map(([place, text]) => (
        <g key={place}>
          <line x1={`${place}%`} x2={`${place}%`} y2="5" />
          {place < 95 && (
            <text x={`${place}%`} dx="4" y="11">
              {text}
            </text>
          )}
        </g>
      ))}
    </svg>
  );
}

interface BarsProps extends Omit<JSX.IntrinsicElements['svg'], 'from' | 'to'> {
  readonly of: Buckets;
  readonly children?: ComponentChildren;
}

/** A bar for each part of a time. The pointer gets the number of each. */
export function Bars({ of: buckets, children, ...svg }: BarsProps) {
  const { from, to, counts } = buckets;
  return (
    <div class="histogram" aria-hidden="true">
      {/* biome-ignore lint/a11y/noSvgWithoutTitle: each part has its own, for the pointer; readers of the screen have a table */}
      <svg {...svg} viewBox={`0 0 ${Math.max(1, counts.length)} 100`} preserveAspectRatio="none">
        {counts.map((count, at) => (
          <rect x={at} width="1" height="100" class="part">
            <title>{`${count} from ${clockTime(from + (at / counts.length) * (to - from))}`}</title>
          </rect>
        ))}
        <path d={barsPath(counts, peakOf(counts))} />
        {children}
      </svg>
      <Axis scale={buckets} />
    </div>
  );
}

/** Calls a second over the last minutes, as small as a word. Beside it stands the number. */
export function Sparkline({ rates }: { readonly rates: ArrayLike<number> }) {
  return (
    <svg class="sparkline" viewBox="0 -1 90 24" preserveAspectRatio="none" aria-hidden="true">
      <path d={sparklinePath(rates, 90, 22)} />
    </svg>
  );
}

/** Something that happened at a time. */
export interface Mark {
  readonly at: number;
  readonly tone: string;
  readonly text: string;
}

interface CurveProps {
  readonly scale: Scale;
  /** In equal parts of the time; `NaN` where nothing is known. */
  readonly values: ArrayLike<number>;
  /** What was lost, drawn as bars. */
  readonly losses: ArrayLike<number>;
  readonly marks: readonly Mark[];
  readonly format: (value: number) => string;
}

/** An amount over a time, with what happened meanwhile. */
export function Curve({ scale, values, losses, marks, format }: CurveProps) {
  const peak = Math.max(peakOf(values), peakOf(losses));
  return (
    <div class="histogram curve" aria-hidden="true">
      <svg viewBox={`0 -1 ${values.length} 102`} preserveAspectRatio="none" aria-hidden="true">
        <path class="wrong" d={barsPath(losses, peak, 1)} />
        <path class="line-of" d={sparklinePath(values, values.length, 100, peak)} />
      </svg>
      <svg class="marks" aria-hidden="true">
        {marks
          .filter(({ at }) => at >= scale.from && at <= scale.to)
          .map(({ at, tone, text }) => (
            <g key={at} class={tone}>
              <title>{`${clockTime(at)} ${text}`}</title>
              <line x1={`${placeOf(at, scale)}%`} x2={`${placeOf(at, scale)}%`} y2="100%" />
              <text
                x={`${placeOf(at, scale)}%`}
                dx={placeOf(at, scale) > 85 ? -4 : 4}
                y="12"
                class={placeOf(at, scale) > 85 ? 'before' : ''}
              >
                {text}
              </text>
            </g>
          ))}
      </svg>
      {peak > 0 && <span class="peak">{format(peak)}</span>}
      <Axis scale={scale} />
    </div>
  );
}

export interface Bar extends Scale {
  readonly tone: string;
  /** For the pointer. */
  readonly title: string;
  /** Inside the bar, where there is room. */
  readonly text?: string;
}

interface LanesProps {
  readonly scale: Scale;
  readonly lanes: readonly {
    readonly name: ComponentChildren;
    readonly bars: readonly Bar[];
    readonly value?: string;
  }[];
  /** What is after it is planned. */
  readonly now?: number | undefined;
  /** Whether the scale is one of amounts, which has no times below it. */
  readonly amounts?: boolean;
}

/** A lane for each thing, with bars from when to when, or of an amount. */
export function Lanes({ scale, lanes, now, amounts = false }: LanesProps) {
  const line = now !== undefined && `${placeOf(now, scale)}%`;
  return (
    <div class={amounts || lanes.some(({ value }) => value) ? 'lanes with-values' : 'lanes'} aria-hidden="true">
      {lanes.map(({ name, bars, value }) => (
        <>
          <span class="lane-name">{typeof name === 'string' ? <Text value={name} most={120} /> : name}</span>
          <svg class="lane" aria-hidden="true">
            {bars.map((bar) => (
              <LaneBar {...bar} scale={scale} now={now} />
            ))}
            {line && <line class="now" x1={line} x2={line} y2="100%" />}
          </svg>
          {value !== undefined && <span class="muted">{value}</span>}
        </>
      ))}
      {!amounts && <Axis scale={scale} />}
    </div>
  );
}

function LaneBar({ scale, now, from, to, tone, title, text }: Bar & Pick<LanesProps, 'scale' | 'now'>) {
  const [start, end] = [placeOf(from, scale), placeOf(to, scale)];
  const done = now === undefined ? end : Math.max(start, Math.min(end, placeOf(now, scale)));
  const part = (left: number, right: number, kind: string) =>
    right > left && <rect x={`${left}%`} width={`${right - left}%`} y="15%" height="70%" class={kind} />;
  return (
    <g class={tone}>
      <title>{title}</title>
      {end - start < 0.3 && <line x1={`${start}%`} x2={`${start}%`} y1="15%" y2="85%" class="moment" />}
      {part(start, done, 'done')}
      {part(done, end, 'planned')}
      {text !== undefined && end - start > 4 && (
        <text x={`${start}%`} dx="4" y="70%">
          {text}
        </text>
      )}
    </g>
  );
}

/** The words for tones, of those that a picture uses. */
export function Legend({ of }: { readonly of: readonly (readonly [tone: string, text: ComponentChildren])[] }) {
  return (
    <div class="bar legend">
      {of.map(([tone, text]) => (
        <span key={tone} class="bar tight">
          <Square tone={tone} /> {text}
        </span>
      ))}
    </div>
  );
}

/** One of many of its kind: its tone, and for those who see no colours a shape in it. */
export function Square({ tone, title }: { readonly tone: string; readonly title?: string }) {
  return (
    <svg class={`square ${tone}`} viewBox="0 0 10 10" aria-hidden="true">
      {title && <title>{title}</title>}
      <rect width="10" height="10" rx="2" />
      {tone === 'error' && <path d="M3 3l4 4M7 3l-4 4" />}
      {tone === 'warning' && <path d="M5 2.5v3.2M5 7.2v.6" />}
    </svg>
  );
}
