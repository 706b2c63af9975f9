import type { ComponentChildren, JSX } from 'preact';
import { clockTime } from '../../../wire/words/time.ts';
import { type Buckets, barsPath, peakOf, placeOf, type Scale, sparklinePath, ticksOf } from './scale.ts';
import { Table } from './tables.tsx';
import { Text } from './text.tsx';

// Pictures of times and amounts. What is drawn is hidden from readers of the screen, who get a table of the same.

interface Titled {
  readonly label: string;
  /** Beside the title. */
  readonly beside?: ComponentChildren;
}

type Row = readonly (string | number | undefined)[];

interface PictureProps extends Titled {
  /** The columns of the table. */
  readonly heads: readonly string[];
  readonly rows: readonly Row[];
  readonly children: ComponentChildren;
}

function Picture({ label, beside, heads, rows, children }: PictureProps) {
  return (
    <figure class="picture">
      <figcaption class="bar">
        <span aria-hidden="true">{label}</span> {beside}
      </figcaption>
      {children}
      <div class="visually-hidden">
        <Table
          label={label}
          items={rows}
          keyOf={(row) => String(rows.indexOf(row))}
          columns={Object.fromEntries(heads.map((head, at) => [head, (row: Row) => row[at]]))}
        />
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
          <line x1={`${place}%`} x2={`${place}%`} y2="5" stroke="var(--strong-line)" />
          <text {...beside(place)} y="11" fill="var(--muted)">
            {text}
          </text>
        </g>
      ))}
    </svg>
  );
}

/** Where a text stands beside a line at a place in percent, so that it is not cut off. */
function beside(place: number) {
  const isLate = place > 80;
  return { x: `${place}%`, dx: isLate ? -4 : 4, 'text-anchor': isLate ? 'end' : 'start' } as const;
}

interface BarsProps extends Omit<JSX.IntrinsicElements['svg'], 'from' | 'to'> {
  readonly of: Buckets;
  readonly children?: ComponentChildren;
}

/** A bar for each part of a time. The pointer gets the number of each. Beside a list of the same it needs no table. */
export function Bars({ of: buckets, children, ...svg }: BarsProps) {
  const { counts } = buckets;
  return (
    <div class="histogram" aria-hidden="true">
      {/* biome-ignore lint/a11y/noSvgWithoutTitle: each part has its own, for the pointer */}
      <svg {...svg} viewBox={`0 0 ${Math.max(1, counts.length)} 100`} preserveAspectRatio="none">
        {counts.map((count, at) => (
          <rect x={at} width="1" height="100" class="part" fill="transparent">
            <title>{`${count} from ${startOf(buckets, at)}`}</title>
          </rect>
        ))}
        <path d={barsPath(counts, peakOf(counts))} fill="var(--accent)" opacity="0.75" />
        {children}
      </svg>
      <Axis scale={buckets} />
    </div>
  );
}

function startOf({ from, to, counts }: Buckets, at: number): string {
  return clockTime(from + (at / counts.length) * (to - from));
}

/** The same as a picture of its own. */
export function BarChart({ of, ...titled }: Titled & { readonly of: Buckets }) {
  return (
    <Picture {...titled} heads={['From', 'Number']} rows={of.counts.map((count, at) => [startOf(of, at), count])}>
      <Bars of={of} />
    </Picture>
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

interface CurveProps extends Titled {
  /** The end, in milliseconds since the epoch. */
  readonly to: number;
  /** An amount in each second before, the oldest first; `NaN` where it is not known. */
  readonly values: Float32Array;
  /** What was lost of it, drawn as bars. */
  readonly losses: Float32Array;
  /** What happened meanwhile. */
  readonly marks: readonly { readonly at: number; readonly tone: string; readonly text: string }[];
  readonly format: (value: number) => string;
}

/** An amount over some minutes. */
export function Curve({ to, values, losses, marks: all, format, ...titled }: CurveProps) {
  const scale = { from: to - values.length * 1000, to };
  const marks = all.filter(({ at }) => at >= scale.from && at <= to);
  const peak = Math.max(peakOf(values), peakOf(losses));
  const sumOf = (numbers: Float32Array) => numbers.reduce((sum, number) => sum + number, 0);
  const rows = Array.from({ length: values.length / 60 }, (_, minute) => {
    const [start, seconds] = [scale.from + minute * 60_000, [minute * 60, minute * 60 + 60] as const];
    const seen = values.slice(...seconds).filter((value) => !Number.isNaN(value));
    const inside = marks.filter(({ at }) => at >= start && at < start + 60_000);
    return [
      clockTime(start),
      seen.length === 0 ? '-' : format(sumOf(seen) / seen.length),
      sumOf(losses.slice(...seconds)),
      inside.map(({ text }) => text).join('; '),
    ];
  });
  return (
    <Picture {...titled} heads={['From', 'Mean', 'Dropped', 'Switched']} rows={rows}>
      <div class="histogram curve" aria-hidden="true">
        <svg viewBox={`0 -1 ${values.length} 102`} preserveAspectRatio="none" aria-hidden="true">
          <path class="losses" d={barsPath(losses, peak, 1)} fill="var(--error)" />
          <path class="line-of" d={sparklinePath(values, values.length, 100, peak)} />
        </svg>
        <svg class="marks" aria-hidden="true">
          {marks.map(({ at, tone, text }) => {
            const place = placeOf(at, scale);
            return (
              <g class={tone}>
                <line x1={`${place}%`} x2={`${place}%`} y2="100%" stroke="var(--tone)" stroke-width="2" />
                <text {...beside(place)} y="12" class="halo" fill="var(--tone)" stroke="var(--surface)">
                  {text}
                </text>
              </g>
            );
          })}
        </svg>
        {peak > 0 && <span class="peak">{format(peak)}</span>}
        <Axis scale={scale} />
      </div>
    </Picture>
  );
}

interface Bar extends Scale {
  readonly tone: string;
  /** For the pointer, and in the table. */
  readonly title: string;
  /** Inside the bar, where there is room. */
  readonly text?: string;
}

interface Lane {
  readonly name: string;
  readonly hue?: Readonly<Record<string, string>>;
  readonly detail?: string;
  readonly bars: readonly Bar[];
  readonly value?: string;
}

interface LanesProps extends Titled {
  readonly heads: readonly [name: string, detail: string, what: string];
  readonly scale: Scale;
  readonly lanes: readonly Lane[];
  /** What is after it is planned. Without it the scale is not one of clock times. */
  readonly now?: number;
}

/** A lane for each thing, with bars from when to when, or of an amount. */
export function Lanes({ scale, lanes, now, ...titled }: LanesProps) {
  const line = now !== undefined && `${placeOf(now, scale)}%`;
  const rows = lanes.map(({ name, detail, bars, value }) => [
    name,
    detail,
    value ?? bars.map(({ title }) => title).join('; '),
  ]);
  return (
    <Picture {...titled} rows={rows}>
      <div class="lanes" aria-hidden="true">
        {lanes.map(({ name, hue, detail = '', bars, value }) => (
          <>
            <span class="lane-name">
              <span class="name category" style={hue}>
                {name}
              </span>{' '}
              <Text value={detail} most={120} />
            </span>
            <svg class="lane" aria-hidden="true">
              {bars.map((bar) => (
                <LaneBar {...bar} scale={scale} now={now} />
              ))}
              {line && <line class="now" x1={line} x2={line} y2="100%" stroke="var(--error)" stroke-width="1.5" />}
            </svg>
            <span class="muted">{value}</span>
          </>
        ))}
        {line && <Axis scale={scale} />}
      </div>
    </Picture>
  );
}

type LaneBarProps = Bar & Pick<LanesProps, 'scale'> & { readonly now: number | undefined };

function LaneBar({ scale, now = Number.POSITIVE_INFINITY, ...bar }: LaneBarProps) {
  const [start, end] = [placeOf(bar.from, scale), placeOf(bar.to, scale)];
  const done = Math.min(end, Math.max(start, placeOf(now, scale)));
  const part = (from: number, to: number, kind: string, opacity: number) =>
    to > from && (
      <rect
        class={kind}
        x={`${from}%`}
        width={`${to - from}%`}
        y="15%"
        height="70%"
        fill="var(--tone)"
        opacity={opacity}
      />
    );
  return (
    <g class={bar.tone}>
      <title>{bar.title}</title>
      <line x1={`${start}%`} x2={`${start}%`} y1="15%" y2="85%" stroke="var(--tone)" stroke-width="2" />
      {part(start, done, 'done', 1)}
      {part(done, end, 'planned', 0.3)}
      <text x={`${start}%`} dx="4" y="70%" class="halo" font-weight="600" fill="var(--surface)" stroke="var(--tone)">
        {end - start > 4 && bar.text}
      </text>
    </g>
  );
}

interface MatrixProps extends Titled {
  /** What the lines are, for the table. */
  readonly head: string;
  readonly columns: readonly string[];
  readonly lines: readonly {
    readonly name: string;
    /** Of each column, where there is something to see. */
    readonly cells: readonly (readonly [tone: string, text: string] | undefined)[];
  }[];
}

/** A square where a line and a column meet. */
export function Matrix({ head, columns, lines, ...titled }: MatrixProps) {
  const rows = lines.map(({ name, cells }) => [name, ...cells.map((cell) => cell?.[1] ?? '-')]);
  return (
    <Picture {...titled} heads={[head, ...columns]} rows={rows}>
      <table class="matrix" aria-hidden="true">
        <tr>
          <td />
          {columns.map((column) => (
            <td key={column} class="column-name">
              {column}
            </td>
          ))}
        </tr>
        {lines.map(({ name, cells }, line) => (
          <tr key={line}>
            <td class="lane-name">
              <Text value={name} most={60} />
            </td>
            {columns.map((column, at) => (
              <td key={column}>
                {cells[at] && <Square tone={cells[at][0]} title={`${column}, ${name}: ${cells[at][1]}`} />}
              </td>
            ))}
          </tr>
        ))}
      </table>
    </Picture>
  );
}

/** The words for tones. */
export function Legend({ of }: { readonly of: readonly (readonly [tone: string, text: string])[] }) {
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

const SHAPES: Readonly<Record<string, string>> = { error: 'M3 3l4 4M7 3l-4 4', warning: 'M5 2.5v3.2M5 7.2v.6' };

/** One of many of its kind: its tone, and for those who see no colours a shape in it. */
export function Square({ tone, title }: { readonly tone: string; readonly title?: string }) {
  return (
    <svg class={`square ${tone}`} viewBox="0 0 10 10" aria-hidden="true">
      {title && <title>{title}</title>}
      <rect width="10" height="10" rx="2" fill="var(--tone)" />
      <path d={SHAPES[tone]} stroke="var(--surface)" stroke-width="1.5" />
    </svg>
  );
}
