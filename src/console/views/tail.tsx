import { useEffect, useMemo, useState } from 'preact/hooks';
import type { TailLine } from '../../protocol/streams.ts';
import { parseDuration } from '../../protocol/time.ts';
import { Badge, type Tone } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { counted } from '../parts/counted.ts';
import { download } from '../parts/download.ts';
import { Empty, Notice } from '../parts/notice.tsx';
import { clockSpan, exactSpan } from '../parts/spans.ts';
import type { Connection } from '../state/connection.ts';
import type { Query } from '../state/route.ts';
import { useNow } from '../state/use-now.ts';
import { useRedraw } from '../state/use-redraw.ts';
import { replaceQuery } from '../state/use-route.ts';
import { useStore } from '../state/use-store.ts';
import { CategoryPicker } from './tail/category-picker.tsx';
import { parseFilter } from './tail/filter.ts';
import { LineDetails } from './tail/line-details.tsx';
import type { LineRow } from './tail/line-log.ts';
import { LogList } from './tail/log-list.tsx';
import { type TailPhase, TailSession } from './tail/tail-session.ts';
import { fileName, lineText, ndjson } from './tail/text-of-line.ts';
import type { ViewProps } from './view.ts';

const DURATIONS = ['1m', '5m', '15m', '30m', '1h', '4h', '8h'];
const DEFAULT_DURATION = '5m';
/** Longest work on the filter in one frame, in milliseconds. */
const SLICE_MS = 8;
/** How often a running tail says to screen readers how far it is, in milliseconds. */
const SUMMARY_MS = 30_000;

/** The tail of this view, drawn again at most once a frame. It ends with the view. */
function useTail(connection: Connection) {
  const [version, redraw] = useRedraw();
  const [{ session, draw, nameOf, cancel }] = useState(() => {
    let frame = 0;
    /** Of processes that have left, too. */
    const labels = new Map<string, string>();
    const nameOf = (process: string) => {
      const name = connection.processName(process);
      if (name.includes(':')) labels.set(process, name);
      return labels.get(process) ?? name;
    };
    const drawNow = () => {
      frame = 0;
      const until = performance.now() + SLICE_MS;
      session.log.work(() => performance.now() > until);
      if (session.log.isFiltering) draw();
      redraw();
    };
    const draw = () => {
      if (frame === 0) frame = requestAnimationFrame(drawNow);
    };
    const session = new TailSession({
      open: ({ categories, seconds, rate, log }, signal) =>
        connection.client.tail(categories, { duration: seconds, log, signal, ...(rate !== undefined && { rate }) }),
      changed: draw,
      nameOf,
      now: () => connection.now(),
      after: (milliseconds, task) => {
        const timer = setTimeout(task, milliseconds);
        return () => clearTimeout(timer);
      },
      random: Math.random,
    });
    return { session, draw, nameOf, cancel: () => cancelAnimationFrame(frame) };
  });
  useEffect(() => {
    const stop = () => session.stop();
    const wake = () => session.wake();
    addEventListener('pagehide', stop);
    addEventListener('online', wake);
    return () => {
      removeEventListener('pagehide', stop);
      removeEventListener('online', wake);
      stop();
      cancel();
    };
  }, [session]);
  return { session, version, draw, nameOf };
}

export function TailView({ connection, route }: ViewProps) {
  const { session, version, draw, nameOf } = useTail(connection);
  const categories = useStore(connection, (state) => state.categories);
  const tenant = useStore(connection, (state) => state.tenant);
  const [follow, setFollow] = useState(true);
  const [selected, setSelected] = useState<LineRow>();
  const [search, setSearch] = useState('');
  const filter = useMemo(() => parseFilter(search), [search]);
  useEffect(() => {
    session.log.setFilter(filter);
    draw();
  }, [session, filter]);
  const { log, phase, isRunning, problem } = session;
  useSummary(connection, session);

  const chosen = [
    ...new Set(
      route.query
        .get('categories')
        ?.split(',')
        .filter((name) => name !== '') ?? [],
    ),
  ];
  const duration = route.query.get('duration') ?? DEFAULT_DURATION;
  const rate = route.query.get('rate') ?? '';
  const alsoLog = route.query.get('log') === 'true';
  const set = (change: Query) => replaceQuery('tail', { ...Object.fromEntries(route.query), ...change });
  const limits = connection.session?.otelrdcp_console;
  const most = limits?.maxDurationSeconds ?? Number.POSITIVE_INFINITY;
  const durations = [...new Set([...DURATIONS, duration])].filter((each) => (parseDuration(each) ?? 0) <= most);

  function start(event: Event): void {
    event.preventDefault();
    if (isRunning || chosen.length === 0) return;
    const seconds = Math.min(parseDuration(duration) ?? 300, most);
    setFollow(true);
    session.start({ categories: chosen, seconds, rate: rate === '' ? undefined : Number(rate), log: alsoLog });
  }

  const lines = () => log.shown.filter((row) => row.kind === 'line').map((row) => row.line);
  const save = () => {
    const name = fileName(session.settings?.categories ?? [], connection.now());
    download(name, 'application/x-ndjson', ndjson(lines()));
  };
  const textOf = (line: TailLine) => lineText(line, nameOf(line.instance));

  return (
    <div class={`tail ${selected === undefined ? '' : 'with-details'}`}>
      <form class="tail-form" onSubmit={start}>
        <CategoryPicker
          categories={categories ?? new Map()}
          chosen={chosen}
          disabled={isRunning}
          onChange={(names) => set({ categories: names.join(',') })}
        />
        <label>
          For
          <select
            value={duration}
            disabled={isRunning}
            onChange={(event) => set({ duration: event.currentTarget.value })}
          >
            {durations.map((each) => (
              <option key={each} value={each}>
                {exactSpan(parseDuration(each) ?? 0)}
              </option>
            ))}
          </select>
        </label>
        <label>
          Lines a second
          <input
            type="number"
            min="1"
            max="10000"
            value={rate}
            placeholder={String(limits?.tail?.rate ?? '')}
            disabled={isRunning}
            onInput={(event) => set({ rate: event.currentTarget.value })}
          />
        </label>
        <label class="bar check" title="In every process, for as long as the tail lasts">
          <input
            type="checkbox"
            checked={alsoLog}
            disabled={isRunning}
            onChange={(event) => set({ log: event.currentTarget.checked ? 'true' : '' })}
          />
          Also to the service's own outputs
        </label>
        {isRunning ? (
          <Button kind="danger" onClick={() => session.stop()}>
            Stop
          </Button>
        ) : (
          <Button kind="primary" type="submit" disabled={chosen.length === 0}>
            Start
          </Button>
        )}
      </form>
      {problem && <Notice problem={problem} />}
      {phase === 'idle' ? (
        <Empty title={chosen.length === 0 ? 'Choose categories to read their lines' : 'Ready'}>
          <p>
            The lines of every process{tenant === undefined ? '' : `, for ${tenant},`} come to this page alone. Nothing
            is switched, and it ends when you leave this view. The audit trail records that you read.
          </p>
        </Empty>
      ) : (
        <>
          <div class="bar">
            <Status session={session} />
            <Button
              aria-pressed={log.isHolding}
              onClick={() => {
                if (log.isHolding) log.release(connection.now());
                else log.hold();
                draw();
              }}
            >
              {log.isHolding ? `Resume (${log.held.toLocaleString()} waiting)` : 'Pause'}
            </Button>
            <Button
              onClick={() => {
                setSelected(undefined);
                log.clear();
                draw();
              }}
            >
              Clear
            </Button>
            <CopyButton label="Copy" text={() => lines().map(textOf).join('\n')} />
            <Button onClick={save}>Download</Button>
            <input
              type="search"
              class="search"
              aria-label="Filter: words, or -words that are left out"
              value={search}
              placeholder="Filter: words, -without"
              aria-describedby="filter-result"
              onInput={(event) => setSearch(event.currentTarget.value)}
            />
            <span id="filter-result" class="muted">
              {filter && `${counted(log.shown.length, 'row', 'rows')} of ${log.size.toLocaleString()}`}
            </span>
          </div>
          <LogList
            rows={log.shown}
            version={version}
            filter={filter}
            selected={selected?.id}
            onSelect={(row) => {
              setSelected(row);
              if (row !== undefined) setFollow(false);
            }}
            follow={follow}
            onFollow={setFollow}
            nameOf={nameOf}
            numberOf={(id) => [...session.processes.keys()].indexOf(id)}
            live={session.isQuiet}
          />
          {selected !== undefined && (
            <LineDetails
              line={selected.line}
              process={nameOf(selected.line.instance)}
              traceUrl={limits?.traceUrl}
              onFilter={setSearch}
              onClose={() => setSelected(undefined)}
            />
          )}
        </>
      )}
    </div>
  );
}

const PHASES: Readonly<Record<TailPhase, readonly [Tone, string]>> = {
  idle: ['neutral', 'Not started'],
  opening: ['neutral', 'Starting'],
  running: ['on', 'Live'],
  lost: ['warning', 'Connecting again'],
  ended: ['neutral', 'Ended'],
};

function Status({ session }: { readonly session: TailSession }) {
  const now = useNow();
  const { log, dropped, asked, processes, phase, isRunning, deadline } = session;
  const [tone, text] = PHASES[phase];
  const here = [...processes.values()].filter(Boolean).length;
  return (
    <div class="bar status">
      <Badge tone={tone}>{text}</Badge>
      {isRunning && <span>{clockSpan(deadline - now)} left</span>}
      {phase === 'running' && (
        <span class={here < asked ? 'wrong' : ''}>
          {here} of {counted(Math.max(asked, here), 'process', 'processes')}
        </span>
      )}
      <span>{counted(log.lines, 'line', 'lines')}</span>
      {dropped > 0 && <span class="wrong">{dropped.toLocaleString()} dropped</span>}
      {log.forgotten > 0 && <span class="muted">the newest {log.size.toLocaleString()} are kept</span>}
    </div>
  );
}

/** Beginning, end and every half minute: screen readers hear how it goes, not every line. */
function useSummary(connection: Connection, session: TailSession): void {
  const { phase } = session;
  useEffect(() => {
    if (phase === 'idle') return undefined;
    const say = () => connection.announce(`${PHASES[phase][1]}, ${counted(session.log.lines, 'line', 'lines')}`);
    say();
    if (phase !== 'running') return undefined;
    const timer = setInterval(say, SUMMARY_MS);
    return () => clearInterval(timer);
  }, [connection, session, phase]);
}
