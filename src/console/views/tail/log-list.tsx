import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';
import { visibleRange } from '../../parts/visible-range.ts';
import type { Filter } from './filter.ts';
import type { LineRow, Row } from './line-log.ts';
import { Marked } from './marked.tsx';
import { noteText } from './notes.ts';
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
const COLOURS = 8;

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

  function move(to: number): void {
    const element = scroller.current;
    const row = rows[to];
    if (element === null || row === undefined) return;
    onFollow(false);
    const from = to * rowHeight;
    const least = from + rowHeight - element.clientHeight;
    element.scrollTop = Math.max(least, Math.min(from, element.scrollTop));
    anchor.current = anchorAt(rows, element.scrollTop, rowHeight);
    if (row.kind === 'line') props.onSelect(row);
  }

  function onKeyDown(event: KeyboardEvent): void {
    const at = selected === undefined ? undefined : indexOf(rows, selected);
    const page = Math.max(1, Math.floor(height / rowHeight) - 1);
    const steps: Readonly<Record<string, number>> = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page };
    const step = steps[event.key];
    if (step !== undefined)
      move(nextLine(rows, at === undefined ? rows.length - Number(step > 0) : at + step, Math.sign(step)));
    else if (event.key === 'Home') move(nextLine(rows, 0, 1));
    else if (event.key === 'End') {
      props.onSelect(undefined);
      onFollow(true);
    } else if (event.key === 'Escape' && selected !== undefined) props.onSelect(undefined);
    else return;
    event.preventDefault();
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
            <NoteRow key={row.id} row={row} nameOf={props.nameOf} />
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
      // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus, and names the active option
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
          {line.tenant !== undefined && <bdi class="tenant">{line.tenant}</bdi>}
          <Marked value={line.message} filter={filter} />
          {attributes !== '' && (
            <span class="attributes">
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
  const two = (value: number) => String(value).padStart(2, '0');
  const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':');
  return (
    <time class="time" dateTime={at} title={`${at.replace('T', ' ').replace('Z', '')} UTC`}>
      {clock}.{String(date.getMilliseconds()).padStart(3, '0')}
    </time>
  );
}

function NoteRow({
  row,
  nameOf,
}: {
  readonly row: Extract<Row, { kind: 'note' }>;
  readonly nameOf: LogListProps['nameOf'];
}) {
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: not to be chosen
    <div class={`log-row note ${row.note.type}`} role="option" aria-disabled="true" aria-selected={false}>
      <LineTime at={new Date(row.at).toISOString()} />
      <bdi>{noteText(row.note, nameOf)}</bdi>
    </div>
  );
}

/** The line at a place or the next one in a direction; notes are skipped. */
function nextLine(rows: readonly Row[], from: number, direction: number): number {
  const start = Math.min(Math.max(from, 0), rows.length - 1);
  for (const way of [direction, -direction]) {
    for (let at = start; at >= 0 && at < rows.length; at += way) if (rows[at]?.kind === 'line') return at;
  }
  return -1;
}
