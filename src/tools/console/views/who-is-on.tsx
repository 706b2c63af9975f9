import { clockTime } from '../../../wire/words/time.ts';
import { now } from '../page.ts';
import { Lanes, Legend, Picture } from '../parts/pictures.tsx';
import { Time } from '../parts/time.tsx';
import type { Reach, Span } from '../state/spans.ts';

/** How each is drawn, and what it is called. */
const REACHES: Readonly<Record<Reach, readonly [tone: string, text: string]>> = {
  everybody: ['on', 'everybody'],
  tenant: ['one-tenant', 'one tenant'],
  some: ['some', 'some work'],
  recorded: ['neutral', 'recorded only'],
};
/** Most lanes. */
const MOST = 8;
const MINUTE = 60_000;

interface WhoIsOnProps {
  readonly label: string;
  readonly spans: readonly Span[];
  /** How far back is shown, in milliseconds. */
  readonly back: number;
}

/** A lane for each category and whom it is on for: since when, by whom, and until when. */
export function WhoIsOn({ label, spans: all, back }: WhoIsOnProps) {
  const scale = scaleOf(all, back);
  const spans = all.filter(({ to }) => to >= scale.from);
  const lanes = [...Map.groupBy(spans, ({ category, whom }) => `${category} ${whom}`).values()]
    .sort((a, b) => newest(b) - newest(a))
    .slice(0, MOST);
  const reaches = new Set(lanes.flat().map(({ reach }) => reach));
  const shown = lanes.flat();
  if (shown.length === 0) return null;
  return (
    <Picture
      label={label}
      beside={
        <Legend
          of={Object.entries(REACHES).flatMap(([reach, legend]) => (reaches.has(reach as Reach) ? [legend] : []))}
        />
      }
      items={shown}
      keyOf={({ category, whom, from }) => `${category} ${whom} ${from}`}
      columns={{
        Category: ({ category }) => category,
        'For whom': ({ whom }) => whom,
        From: ({ from }) => (Number.isFinite(from) ? <Time at={new Date(from).toISOString()} /> : 'before'),
        Until: ({ to }) => (Number.isFinite(to) ? <Time at={new Date(to).toISOString()} /> : 'for good'),
        Who: ({ who }) => who,
      }}
    >
      <Lanes
        scale={scale}
        now={now.value}
        lanes={lanes.map((same) => ({
          name: (
            <>
              <span class="name">{same[0]?.category}</span> <span class="muted">{same[0]?.whom}</span>
            </>
          ),
          bars: same.map(({ reach, from, to, who }) => ({
            tone: REACHES[reach][0],
            from,
            to,
            text: initialsOf(who),
            title: `${who}: ${Number.isFinite(from) ? clockTime(from) : '…'} to ${Number.isFinite(to) ? clockTime(to) : 'for good'}`,
          })),
        }))}
      />
    </Picture>
  );
}

/** From the first switch to the last planned end, as far as that leaves room for both. */
function scaleOf(spans: readonly Span[], back: number) {
  const at = now.value;
  const earliest = Math.min(...spans.map(({ from }) => from).filter(Number.isFinite));
  const latest = Math.max(...spans.map(({ to }) => to).filter(Number.isFinite));
  const past = Math.max(MINUTE, Math.min(back, at - earliest));
  const coming = Math.max(past / 10, Math.min(latest - at, Math.max(30 * MINUTE, past)));
  // The line for now is never at an edge.
  return { from: at - Math.max(past, coming / 4), to: at + coming };
}

function newest(spans: readonly Span[]): number {
  return Math.max(...spans.map(({ from }) => from));
}

/** Such as `AS` of `alice.smith`. */
function initialsOf(who: string): string {
  const [first = '', second] = who.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  return (second === undefined ? first.slice(0, 2) : first.charAt(0) + second.charAt(0)).toUpperCase();
}
