import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';
import { dayTime } from '../../parts/times.ts';
import { visibleRange } from '../../parts/visible-range.ts';
import type { Filter } from './filter.ts';
import type { LineRow, Row } from './line-log.ts';
import { Marked } from './marked.tsx';
import { anchorAt, indexOf } from './row-index.ts';

export interface LogListProps {
  /** Replaced or appended to; `version` tells that it is another one. */
  readonly rows: readonly Row[];
  readonly version: number;
  readonly filter: Filter | undefined;
  /** Id of the row whose details are shown. */
  readonly selected: number | undefined;
  readonly onSelect: (row: LineRow | undefined) => void;
  readonly follow: boolean;
  readonly onFollow: (follow: boolean) => void;
  readonly nameOf: (process: string) => string;
  readonly numberOf: (process: string) => number;
  /** Whether screen readers read new lines. */
  readonly live: boolean;
}

/** How many colours processes have. */
const COLOURS = 6;

/** The lines, newest at the bottom. Only those that can be seen are drawn; what is looked at stays where it is. */
export function LogList(props: LogListProps) {
  const { rows, version, filter, selected, follow, onFollow, live } = props;
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
    if (follow) element.scrollTop = element.scrollHeight;
    else if (kept !== undefined) element.scrollTop = indexOf(rows, kept.id) * rowHeight + kept.offset;
    setTop(element.scrollTop);
  }, [version, follow, height, rowHeight]);

  function onScroll(): void {
    const element = scroller.current;
    if (element === null) return;
    anchor.current = anchorAt(rows, element.scrollTop, rowHeight);
    setTop(element.scrollTop);
    const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < rowHeight;
    if (isAtEnd !== follow) onFollow(isAtEnd);
  }

  // Everything else that scrolls is the browser's.
  function onKeyDown(event: KeyboardEvent): void {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (event.key === 'Escape' || event.key === 'End') props.onSelect(undefined);
    if (event.key === 'End') onFollow(true);
    const element = scroller.current;
    if (step === undefined || element === null) return;
    event.preventDefault();
    let at = selected === undefined ? rows.length - 1 : indexOf(rows, selected) + step;
    while (rows[at]?.kind === 'note') at += step;
    const row = rows[at];
    if (row?.kind !== 'line') return;
    props.onSelect(row);
    const start = at * rowHeight;
    element.scrollTop = Math.max(start + rowHeight - height, Math.min(start, element.scrollTop));
    anchor.current = anchorAt(rows, element.scrollTop, rowHeight);
  }

  const { from, to } = visibleRange({ top, height, rowHeight, count: rows.length });
  const drawn = rows.slice(from, to);
  const isDrawn = selected !== undefined && drawn.some(({ id }) => id === selected);
  return (
    <div class="log" role="log" aria-live={live && follow ? 'polite' : 'off'} aria-label="Lines">
      <div
        ref={scroller}
        class="log-lines"
        role="listbox"
        aria-label="Lines, newest last"
        tabIndex={0}
        aria-activedescendant={isDrawn ? `line-${selected}` : undefined}
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
              isSelected={row.id === selected}
              process={props.nameOf(row.line.instance)}
              colour={props.numberOf(row.line.instance) % COLOURS}
              onSelect={props.onSelect}
            />
          ) : (
            <NoteRow key={row.id} {...row} />
          ),
        )}
        <div role="presentation" style={{ height: `${(rows.length - Math.max(to, from)) * rowHeight}px` }} />
      </div>
      {!follow && (
        <div class="to-end">
          <Button onClick={() => onFollow(true)}>↓ Follow the newest lines</Button>
        </div>
      )}
    </div>
  );
}

interface LineProps {
  readonly row: LineRow;
  readonly filter: Filter | undefined;
  readonly isSelected: boolean;
  readonly process: string;
  readonly colour: number;
  readonly onSelect: (row: LineRow) => void;
}

/** Drawn once: a flood draws only the new ones. */
function Line({ row, filter, isSelected, process, colour, onSelect }: LineProps) {
  return useMemo(() => {
    const { line, attributes } = row;
    return (
      // biome-ignore lint/a11y/useKeyWithClickEvents: the list takes the keys
      <div
        id={`line-${row.id}`}
        class={`log-row process-${colour}`}
        role="option"
        aria-selected={isSelected}
        onClick={() => onSelect(row)}
      >
        <LineTime at={line.timestamp} />
        <span class="process">{process}</span>
        <span class="category">{line.category}</span>
        <span class="message">
          {line.tenant !== undefined && <bdi class="tenant">{line.tenant} </bdi>}
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
  }, [row, filter, isSelected, process]);
}

/** With milliseconds, in the browser's zone, with UTC in the title. */
export function LineTime({ at }: { readonly at: string }) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span class="time">?</span>;
  return (
    <time class="time" dateTime={at} title={`${at.replace('T', ' ').replace('Z', '')} UTC`}>
      {dayTime(date)}.{String(date.getMilliseconds()).padStart(3, '0')}
    </time>
  );
}

function NoteRow({ text, isWarning, at }: Extract<Row, { kind: 'note' }>) {
  return (
    <div class={`log-row note ${isWarning ? 'warning' : ''}`} role="option" aria-disabled="true" aria-selected={false}>
      <LineTime at={new Date(at).toISOString()} />
      <bdi>{text}</bdi>
    </div>
  );
}
