import { clockTime } from '../../../wire/words/time.ts';
import { now } from '../page.ts';
import { Lanes, Legend } from '../parts/pictures.tsx';
import type { Span } from '../state/spans.ts';

/** How each reach is drawn, and what it is called. */
const REACHES = {
  everybody: ['on', 'everybody'],
  tenant: ['one-tenant', 'one tenant'],
  some: ['some', 'some work'],
  recorded: ['recorded', 'recorded only'],
} as const;
/** Most lanes. */
const MOST = 8;
const MINUTE = 60_000;

interface WhoIsOnProps {
  readonly label: string;
  /** Have a lane each, with those of the same category and the same people. */
  readonly lanes: readonly Span[];
  /** What is drawn in them. */
  readonly spans: readonly Span[];
  /** How far back is shown, in milliseconds. */
  readonly back: number;
}

const keyOf = ({ category, whom }: Span) => `${category} ${whom}`;

/** A lane for each category and whom it is on for: since when, by whom, and until when. */
export function WhoIsOn({ label, lanes: all, spans, back }: WhoIsOnProps) {
  const at = now.value;
  const finite = (times: readonly number[]) => times.filter(Number.isFinite);
  const past = Math.max(MINUTE, Math.min(back, at - Math.min(...finite(all.map(({ from }) => from)))));
  const last = Math.max(...finite(all.map(({ to }) => to)));
  const coming = Math.max(past / 10, Math.min(last - at, Math.max(30 * MINUTE, past)));
  // The line for now is at no edge.
  const scale = { from: at - Math.max(past, coming / 4), to: at + coming };
  const newest = (same: readonly Span[]) => Math.max(...same.map(({ from }) => from));
  const shown = all.filter(({ to }) => to >= scale.from);
  const drawn = Map.groupBy(spans, keyOf);
  const known = [...Map.groupBy(shown, keyOf)];
  const lanes = known.sort(([, a], [, b]) => newest(b) - newest(a)).slice(0, MOST);
  if (lanes.length === 0) return null;
  const reaches = new Set(lanes.flatMap(([, same]) => same).map(({ reach }) => REACHES[reach]));
  const clock = (time: number, otherwise: string) => (Number.isFinite(time) ? clockTime(time) : otherwise);
  return (
    <Lanes
      label={label}
      beside={
        <>
          <Legend of={[...reaches]} />
          {known.length > MOST && ` the newest ${MOST} of ${known.length}`}
        </>
      }
      heads={['Category', 'For whom', 'When']}
      scale={scale}
      now={at}
      lanes={lanes.map(([key, same]) => ({
        name: same[0]?.category ?? '',
        detail: same[0]?.whom ?? '',
        bars: (drawn.get(key) ?? []).map(({ reach, from, to, who }) => ({
          tone: REACHES[reach][0],
          from,
          to,
          text: initialsOf(who),
          title: `${clock(from, 'earlier')} to ${clock(to, 'for good')}, ${who}`,
        })),
      }))}
    />
  );
}

/** Such as `AS` of `alice.smith`. */
function initialsOf(who: string): string {
  const [first = '', second] = who.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  return (second === undefined ? first.slice(0, 2) : first.charAt(0) + second.charAt(0)).toUpperCase();
}
