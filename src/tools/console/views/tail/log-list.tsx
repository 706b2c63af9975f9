import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { counted } from '../../../../wire/words/count.ts';
import { Button } from '../../parts/button.tsx';
import { exactTime, printable } from '../../parts/format.ts';
import { anchorAt, indexOf, visibleRange } from '../../parts/visible-range.ts';
import { durationOf, isFailure } from './arrange.ts';
import { type Filter, fieldOf, termFor } from './filter.ts';
import type { GroupRow, LineRow, Row } from './row.ts';
import { follow, hueOf, selected, tail, version } from './running-tail.ts';

interface LogListProps {
  readonly rows: readonly Row[];
  readonly filter: Filter | undefined;
  /** Fields that stand in columns of their own. */
  readonly columns: readonly string[];
  /** Whether long lines take three lines. */
  readonly wrap: boolean;
  readonly onSelect: (row: Row | undefined) => void;
  /** Opens or closes a group. */
  readonly onToggle: (group: GroupRow) => void;
  /** Adds a word to the filter. */
  readonly onTerm: (term: string) => void;
  /** Whether screen readers read new lines. */
  readonly live: boolean;
}

/** Characters of a message that a row shows. */
const MOST = 400;

/** The lines, newest at the bottom. Only visible rows are drawn, and they keep their place. */
export function LogList(props: LogListProps) {
  const { rows, filter, live } = props;
  const isFollowing = follow.value;
  const chosenId = selected.value?.id;
  const scroller = useRef<HTMLDivElement>(null);
  const probe = useRef<HTMLDivElement>(null);
  const anchor = useRef<ReturnType<typeof anchorAt>>(undefined);
  const [size, setSize] = useState({ height: 600, rowHeight: 24 });
  const [top, setTop] = useState(0);
  const { height, rowHeight } = size;

  useEffect(() => {
    const observer = new ResizeObserver(() => {
      const { clientHeight = 0 } = scroller.current ?? {};
      const { offsetHeight = 0 } = probe.current ?? {};
      if (offsetHeight > 0) setSize({ height: clientHeight, rowHeight: offsetHeight });
    });
    for (const { current } of [scroller, probe]) if (current !== null) observer.observe(current);
    return () => observer.disconnect();
  }, []);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const kept = anchor.current;
    if (isFollowing) element.scrollTop = element.scrollHeight;
    else if (kept !== undefined) element.scrollTop = placeOf(rows, kept.id) * rowHeight + kept.offset;
    setTop(element.scrollTop);
  }, [version.value, rows.length, isFollowing, height, rowHeight]);
  // Details beside or below the list leave the chosen line in sight.
  useLayoutEffect(() => {
    if (chosenId !== undefined && !isFollowing && rows.some(({ id }) => id === chosenId)) {
      reveal(placeOf(rows, chosenId));
    }
  }, [chosenId, height, rowHeight]);

  function reveal(at: number): void {
    const element = scroller.current;
    if (element === null) return;
    const start = at * rowHeight;
    element.scrollTop = Math.max(start + rowHeight - element.clientHeight, Math.min(start, element.scrollTop));
    anchor.current = anchorAt(rows, element.scrollTop, rowHeight);
    setTop(element.scrollTop);
  }

  function onScroll(): void {
    const element = scroller.current;
    if (element === null) return;
    anchor.current = anchorAt(rows, element.scrollTop, rowHeight);
    setTop(element.scrollTop);
    const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < rowHeight;
    // A list that got shorter moves the end as well; only scrolling up stops following it.
    if (isAtEnd || element.scrollTop < top) setFollow(isAtEnd);
  }

  // Everything else that scrolls is the browser's.
  function onKeyDown(event: KeyboardEvent): void {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (event.key === 'Escape' || event.key === 'End') props.onSelect(undefined);
    if (event.key === 'End') setFollow(true);
    const chosen = chosenId === undefined ? undefined : rows[placeOf(rows, chosenId)];
    if (chosen?.kind === 'group' && (event.key === 'Enter' || event.key === ' ')) {
      event.preventDefault();
      props.onToggle(chosen);
    }
    const trace = chosen?.kind === 'line' ? fieldOf(chosen, 'trace') : undefined;
    if (trace !== undefined && event.key === 't') props.onTerm(termFor('trace', trace));
    if (step === undefined) return;
    event.preventDefault();
    let at = chosenId === undefined ? rows.length - 1 : placeOf(rows, chosenId) + step;
    while (rows[at]?.kind === 'note') at += step;
    const row = rows[at];
    if (row === undefined) return;
    props.onSelect(row);
    reveal(at);
  }

  const { from, to } = visibleRange({ top, height, count: rows.length, edge: (at) => at * rowHeight });
  const drawn = rows.slice(from, to);
  const isDrawn = chosenId !== undefined && drawn.some(({ id }) => id === chosenId);
  return (
    <div
      class={props.wrap ? 'log wrap' : 'log'}
      role="log"
      aria-live={live && isFollowing ? 'polite' : 'off'}
      aria-label="Lines"
    >
      <div
        ref={scroller}
        class="log-lines"
        role="listbox"
        aria-label="Lines, newest last"
        tabIndex={0}
        aria-activedescendant={isDrawn ? `line-${chosenId}` : undefined}
        onScroll={onScroll}
        onKeyDown={onKeyDown}
      >
        <div ref={probe} class="log-row probe" aria-hidden="true">
          <span>0</span>
        </div>
        <div role="presentation" style={{ height: `${from * rowHeight}px` }} />
        {drawn.map((row) =>
          row.kind === 'line' ? (
            <Line
              key={row.id}
              row={row}
              filter={filter}
              isSelected={row.id === chosenId}
              columns={props.columns}
              process={[...tail.processes.keys()].indexOf(row.line.instance)}
              onSelect={props.onSelect}
              onTerm={props.onTerm}
            />
          ) : row.kind === 'group' ? (
            <Group
              key={row.id}
              row={row}
              isSelected={row.id === chosenId}
              onToggle={() => {
                props.onSelect(row);
                props.onToggle(row);
              }}
            />
          ) : (
            <NoteRow key={row.id} {...row} />
          ),
        )}
        <div role="presentation" style={{ height: `${(rows.length - Math.max(to, from)) * rowHeight}px` }} />
      </div>
      {!isFollowing && (
        <div class="to-end">
          <Button onClick={() => setFollow(true)}>↓ Follow the newest lines</Button>
        </div>
      )}
    </div>
  );
}

function setFollow(follows: boolean): void {
  follow.value = follows;
}

/** The place of a row, or of the next newer one if it is gone. In groups ids do not ascend. */
function placeOf(rows: readonly Row[], id: number): number {
  const at = indexOf(rows, id);
  if (rows[at]?.id === id) return at;
  const exact = rows.findIndex((row) => row.id === id);
  return exact === -1 ? at : exact;
}

interface LineProps {
  readonly row: LineRow;
  readonly filter: Filter | undefined;
  readonly isSelected: boolean;
  readonly columns: readonly string[];
  /** Number of its process, which has a colour of its own. */
  readonly process: number;
  readonly onSelect: (row: LineRow) => void;
  readonly onTerm: (term: string) => void;
}

/** Drawn once: a flood draws only the new ones. */
function Line({ row, filter, isSelected, columns, process, onSelect, onTerm }: LineProps) {
  return useMemo(() => {
    const { line, attributes, clock, times } = row;
    return (
      // biome-ignore lint/a11y/useKeyWithClickEvents: the list takes the keys
      <div
        id={`line-${row.id}`}
        class={`log-row ${isFailure(row) ? 'failed' : ''}`}
        style={{ borderColor: `hsl(${215 + process * 137} 60% 55%)` }}
        role="option"
        aria-selected={isSelected}
        onClick={() => onSelect(row)}
      >
        <LineTime at={line.timestamp} clock={clock} />
        <span class="process">{row.process}</span>
        <span class="category" style={hueOf(line.category)}>
          {line.category}
        </span>
        {columns.map((name) => (
          <span key={name} class="column" title={name}>
            <bdi>{printable(fieldOf(row, name) ?? '', 80).text}</bdi>
          </span>
        ))}
        <span class="message">
          {times !== undefined && <span class="times">×{times} </span>}
          {line.tenant !== undefined && (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the details and the list of fields have a button for it
            // biome-ignore lint/a11y/noStaticElementInteractions: as above
            <bdi
              class="tenant"
              title={`Only ${line.tenant}`}
              onClick={(event) => {
                event.stopPropagation();
                onTerm(termFor('tenant', line.tenant ?? ''));
              }}
            >
              {line.tenant}{' '}
            </bdi>
          )}
          <Marked value={line.message} filter={filter} />
          {attributes !== '' && (
            <span class="attributes">
              {' '}
              <Marked value={attributes} filter={filter} />
            </span>
          )}
        </span>
      </div>
    );
  }, [row, filter, isSelected, columns.join()]);
}

interface GroupProps {
  readonly row: GroupRow;
  readonly isSelected: boolean;
  readonly onToggle: () => void;
}

/** A trace or a piece of work that failed: how many lines it has, how long it took, and what it said last. */
function Group({ row: { id, lines, isOpen }, isSelected, onToggle }: GroupProps) {
  const [first] = lines;
  const last = lines.at(-1);
  if (first === undefined || last === undefined) return null;
  const { line, clock } = first;
  const work = lines.find((each) => each.work !== undefined)?.work;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list takes the keys
    <div
      id={`line-${id}`}
      class={`log-row group ${work === undefined ? '' : 'failed'}`}
      role="option"
      aria-selected={isSelected}
      onClick={onToggle}
    >
      <LineTime at={line.timestamp} clock={clock} />
      <span class="message">
        <span aria-hidden="true">{isOpen ? '▾ ' : '▸ '}</span>
        <span class="visually-hidden">{isOpen ? 'Open: ' : 'Closed: '}</span>
        {work === undefined ? (
          `trace ${line.traceId}`
        ) : (
          <Marked value={work.outcome || 'recorded work'} filter={undefined} />
        )}
        {` · ${counted(lines.length, 'line')} · ${durationOf(lines).toLocaleString()} ms`}
        {line.tenant !== undefined && <bdi class="tenant"> {line.tenant}</bdi>}
        <span class="attributes">
          {' '}
          <Marked value={last.line.message} filter={undefined} />
        </span>
      </span>
    </div>
  );
}

/** With milliseconds, in the browser's zone, with UTC in the title. */
function LineTime({ at, clock }: { readonly at: string; readonly clock: string }) {
  if (Number.isNaN(Date.parse(at))) return <span class="time">?</span>;
  return (
    <time class="time" dateTime={at} title={`${at.replace('T', ' ').replace('Z', '')} UTC`}>
      {clock}
    </time>
  );
}

function NoteRow({ text, isWarning, at }: Extract<Row, { kind: 'note' }>) {
  return (
    <div class={`log-row note ${isWarning ? 'warning' : ''}`} role="option" aria-disabled="true" aria-selected={false}>
      <span class="time">{exactTime(new Date(at)).slice(0, 8)}</span>
      <bdi>{text}</bdi>
    </div>
  );
}

/** Text from elsewhere on one line, with what the filter found marked. */
function Marked({ value, filter }: { readonly value: string; readonly filter: Filter | undefined }) {
  const text = value.slice(0, MOST);
  const parts: ComponentChildren[] = [];
  let from = 0;
  for (const [start, end] of filter?.ranges(text) ?? []) {
    parts.push(shown(text.slice(from, start)), <mark>{shown(text.slice(start, end))}</mark>);
    from = end;
  }
  parts.push(shown(text.slice(from)));
  if (value.length > MOST) parts.push('…');
  return <bdi>{parts}</bdi>;
}

function shown(text: string): string {
  return printable(text.replaceAll('\n', ' ↵ '), Number.POSITIVE_INFINITY).text;
}
