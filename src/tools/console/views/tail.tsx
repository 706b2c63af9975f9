import { useMemo, useState } from 'preact/hooks';
import type { TailLine } from '../../../wire/streams.ts';
import { formatDuration } from '../../../wire/time.ts';
import { counted } from '../../../wire/words/count.ts';
import { connection, replaceQuery, route, state, tailQuery, useShortcuts } from '../page.ts';
import { Button, CopyButton, Toggle } from '../parts/button.tsx';
import { Check, SelectField, TextField } from '../parts/fields.tsx';
import { exactSpan } from '../parts/format.ts';
import { Menu } from '../parts/menu.tsx';
import { Empty, Notice } from '../parts/notice.tsx';
import { SearchBar } from '../parts/search-bar.tsx';
import { limitsOf, onlyWith, partOfQuery, queryOfPart, readPart } from '../state/part.ts';
import { href, type Query } from '../state/route.ts';
import { PartFields } from './part-fields.tsx';
import { arranged } from './tail/arrange.ts';
import { CategoryPicker } from './tail/category-picker.tsx';
import { curlCommand, rdcpCommand } from './tail/commands.ts';
import { FieldList, useFields } from './tail/field-list.tsx';
import { completionsOf } from './tail/fields.ts';
import { parseFilter, withTerm } from './tail/filter.ts';
import { Histogram } from './tail/histogram.tsx';
import { LineDetails } from './tail/line-details.tsx';
import { LogList } from './tail/log-list.tsx';
import type { Row } from './tail/row.ts';
import {
  categoriesOf,
  closeTail,
  draw,
  drawNow,
  follow,
  keeps,
  nameOf,
  secondsOf,
  selected,
  sinceOf,
  startTail,
  tail,
  version,
} from './tail/running-tail.ts';
import { SavedTails } from './tail/saved-tails.tsx';
import { TailStatus } from './tail/tail-status.tsx';
import { fileName, lineText, ndjson } from './tail/text-of-line.ts';

/** How far back a tail is offered to begin, as far as the service keeps lines, and how long to last; in seconds. */
const SINCE = [30, 60, 120, 300, 600];
const DURATIONS = [60, 300, 900, 1800, 3600, 4 * 3600, 8 * 3600];

/** Changes the tail's part of the address. */
const set = (change: Query) => replaceQuery('tail', { ...Object.fromEntries(route.value.query), ...change });
const setSearch = (filter: string) => set({ filter });
const addTerm = (term: string) => setSearch(withTerm(route.value.query.get('filter') ?? '', term));

export function TailView() {
  // Read, so that the view is drawn again with each change of the tail.
  void version.value;
  const { log, phase, isRunning, problem } = tail;
  const { query } = route.value;
  const search = query.get('filter') ?? '';
  // Before anything is drawn, so that marks and rows are of one filter.
  const filter = useMemo(() => {
    const parsed = parseFilter(search);
    log.setFilter(parsed);
    draw();
    return parsed;
  }, [search]);
  // Whether a start was tried, so that what is wrong is shown.
  const [checked, setChecked] = useState(false);
  const begin = () => setChecked(startTail(route.value.query) !== undefined);
  const beginWith = (change: Query) => {
    set(change);
    begin();
  };

  useShortcuts({
    l: focusLines,
    p: () => isRunning && hold(),
    f: () => {
      follow.value = true;
      draw();
    },
    s: () => (isRunning ? tail.stop() : begin()),
  });
  const shown = selected.value;
  const unselect = () => {
    selected.value = undefined;
  };
  return (
    <div class={`tail ${shown?.kind === 'line' ? 'with-details' : ''}`}>
      <Setup checked={checked} onStart={begin} onRestart={beginWith} />
      {problem && <Notice problem={problem} />}
      {phase === 'idle' ? (
        <Empty title={categoriesOf(query).length === 0 ? 'Choose categories to read their lines' : 'Ready to start'}>
          <p>
            The lines of every process
            {state.tenant.value === undefined ? '' : `, for ${state.tenant.value},`} come to this page alone. Nothing is
            switched on. The tail goes on while you look at other views. The audit trail records that you read.
          </p>
        </Empty>
      ) : (
        <>
          <Lines search={search} filter={filter} />
          {shown?.kind === 'line' && (
            <LineDetails
              row={shown}
              traceUrl={connection.session?.otelrdcp_console?.traceUrl}
              onTerm={addTerm}
              onOnly={(...condition) => {
                const narrowed = onlyWith(partOfQuery(query), ...condition);
                if (narrowed !== undefined) beginWith(queryOfPart(narrowed));
              }}
              onClose={unselect}
            />
          )}
        </>
      )}
    </div>
  );
}

function hold(): void {
  if (tail.log.isHolding) tail.log.release(Date.now());
  else tail.log.hold();
  draw();
}

interface SetupProps {
  readonly checked: boolean;
  readonly onStart: () => void;
  /** Begins again with another address. */
  readonly onRestart: (change: Query) => void;
}

/** What to read. While the tail runs it is one line that can be opened. */
function Setup({ checked, onStart, onRestart }: SetupProps) {
  const { query } = route.value;
  const { isRunning, settings } = tail;
  const chosen = categoriesOf(query);
  const part = partOfQuery(query);
  const read = readPart(part);
  const { keepSeconds } = connection;
  const [lasts, since] = [secondsOf(query), sinceOf(query)];
  const times = (offered: readonly number[], most: number, text = '') =>
    [...new Set(offered)]
      .filter((seconds) => seconds > 0 && seconds <= most)
      .sort((a, b) => a - b)
      .map((seconds) => [formatDuration(seconds), `${exactSpan(seconds)}${text}`] as const);
  const form = (
    <form
      class="tail-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isRunning) onStart();
      }}
    >
      <CategoryPicker
        categories={state.categories.value ?? new Map()}
        chosen={chosen}
        disabled={isRunning}
        onChange={(names) => set({ categories: names.join(',') })}
      />
      <SelectField
        label="For"
        value={formatDuration(lasts)}
        options={times([...DURATIONS, lasts], connection.maxSeconds())}
        disabled={isRunning}
        onChoose={(duration) => set({ duration })}
      />
      {keepSeconds > 0 && (
        <SelectField
          label="Since"
          title="Recorded lines from before the tail begins"
          value={since > 0 ? formatDuration(since) : ''}
          options={[['', 'now'], ...times([...SINCE, since, keepSeconds], keepSeconds, ' ago')]}
          disabled={isRunning}
          onChoose={(chosen) => set({ since: chosen, past: '' })}
        />
      )}
      <TextField
        label="Lines a second"
        input={{ type: 'number', min: '1', max: '10000' }}
        value={query.get('rate') ?? ''}
        placeholder={String(connection.session?.otelrdcp_console?.tail?.rate ?? '')}
        disabled={isRunning}
        onText={(rate) => set({ rate })}
      />
      {!isRunning && (
        <Button kind="primary" type="submit" disabled={chosen.length === 0}>
          Start
        </Button>
      )}
      <SavedTails disabled={isRunning} />
      <Check
        label="Also to the service's own outputs"
        title="In every process, for as long as the tail lasts"
        checked={query.get('log') === 'true'}
        disabled={isRunning}
        onCheck={(log) => set({ log: log ? 'true' : '' })}
      />
      <PartFields
        value={part}
        onChange={(changed) => set(queryOfPart(changed))}
        wrong={checked && typeof read === 'string' ? read : undefined}
        disabled={isRunning}
      />
    </form>
  );
  if (!isRunning) return form;
  return (
    <div class="bar tight setup">
      <details>
        <summary>
          <span class="name">{settings.categories.join(', ')}</span>
          {settings.tenant !== undefined && ` for ${settings.tenant}`}
        </summary>
        {form}
      </details>
      {limitsOf(part).map(([text, without]) => (
        <span key={text} class="chip limit">
          {text}
          <button
            type="button"
            aria-label="Start again without this limit"
            onClick={() => onRestart(queryOfPart(without))}
          >
            ×
          </button>
        </span>
      ))}
      <Button kind="danger" onClick={() => tail.stop()}>
        Stop
      </Button>
    </div>
  );
}

interface LinesProps {
  readonly search: string;
  readonly filter: ReturnType<typeof parseFilter>;
}

function Lines({ search, filter }: LinesProps) {
  // A component that reads any signal is drawn again for signals and its own properties only.
  void version.value;
  const { log } = tail;
  const { query } = route.value;
  const [fold = false, byTrace = false, wrap = false] = ['fold', 'trace', 'wrap'].map(
    (name) => query.get(name) === 'true',
  );
  const columns = (query.get('columns') ?? '').split(',').filter(Boolean);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [showsFields, setShowsFields] = useState(false);
  const fields = useFields(log.shown, filter);
  // Of all lines: a word that is half typed may leave out every one.
  const completed = useFields(log.rows, undefined);
  const rows = arranged(log.shown, { fold, byTrace, open }, log.rows);
  return (
    <>
      <div class="bar tail-bar">
        <TailStatus />
        <SearchBar
          label="Filter lines"
          value={search}
          onSearch={setSearch}
          input={{
            placeholder: 'words -without name:value name>100',
            list: 'filter-completions',
            onKeyDown: ({ key }) => {
              if (key === 'Enter') chooseNewest();
              if (key === 'Escape') setSearch('');
            },
          }}
        >
          <datalist id="filter-completions">
            {completionsOf(search, completed).map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
          <span class="muted">{filter && `${counted(log.shown.length, 'row')} of ${log.size.toLocaleString()}`}</span>
        </SearchBar>
        {(tail.isRunning || log.isHolding) && (
          <Button aria-pressed={log.isHolding} onClick={hold}>
            {log.isHolding ? `Resume (${log.held.toLocaleString()} waiting)` : 'Pause'}
          </Button>
        )}
        <Button
          onClick={() => {
            selected.value = undefined;
            log.clear();
            drawNow();
          }}
        >
          Clear
        </Button>
        <ViewMenu />
        <button
          type="button"
          class="filter"
          aria-expanded={showsFields}
          onClick={() => setShowsFields((known) => !known)}
        >
          Fields
        </button>
      </div>
      <Histogram
        rows={log.shown}
        filter={filter}
        onBrush={(from, to) => setSearch(withTerm(withTerm(search, `time>=${from}`), `time<=${to}`))}
      />
      <div class={showsFields ? 'log-area with-fields' : 'log-area'}>
        {showsFields && (
          <aside class="fields" aria-label="Fields">
            <FieldList
              fields={fields}
              columns={columns}
              onTerm={addTerm}
              onColumns={(changed) => set({ columns: changed.join(',') })}
            />
          </aside>
        )}
        <LogList
          rows={rows}
          filter={filter}
          columns={columns}
          wrap={wrap}
          onSelect={(row) => {
            selected.value = row;
            if (row !== undefined) follow.value = false;
          }}
          onToggle={({ key }) => {
            const next = new Set(open);
            if (!next.delete(key)) next.add(key);
            follow.value = false;
            setOpen(next);
          }}
          onTerm={addTerm}
          live={tail.isQuiet}
        />
      </div>
    </>
  );
}

/** How the lines are shown, and where they can be taken to. */
function ViewMenu() {
  void version.value;
  const { query } = route.value;
  const { settings } = tail;
  const command = rdcpCommand(settings);
  const lines = () => tail.log.shown.filter((row) => row.kind === 'line').map((row) => row.line);
  const textOf = (line: TailLine) => lineText(line, nameOf(line.instance));
  const toggle = (name: string, title: string) => (
    <Toggle pressed={query.get(name) === 'true'} onPress={(pressed) => set({ [name]: pressed ? 'true' : '' })}>
      {title}
    </Toggle>
  );
  return (
    <Menu label="View" kind="button">
      <div class="bar">
        {toggle('fold', 'Fold equal lines')}
        {toggle('trace', 'Group by trace')}
        {toggle('wrap', 'Wrap')}
      </div>
      <Check
        label="Keep the lines over a reload"
        title="In this tab alone, until it is closed or you sign out"
        checked={keeps.value}
        onCheck={(checked) => {
          keeps.value = checked;
        }}
      />
      <CopyButton label="Copy" text={() => lines().map(textOf).join('\n')} />
      <Button onClick={() => download(fileName(settings.categories, Date.now()), ndjson(lines()))}>Download</Button>
      {command !== undefined && <CopyButton label="Copy as rdcp command" text={() => command} />}
      <CopyButton label="Copy as curl" text={() => curlCommand(settings, new URL('../v1/tail', location.href).href)} />
      <CopyButton label="Copy link" text={() => location.href} />
      {!tail.isRunning && <Button onClick={closeTail}>Close the tail</Button>}
    </Menu>
  );
}

/** Goes from the filter to the newest line that it finds. */
function chooseNewest(): void {
  const log = tail.log;
  while (log.isFiltering) log.work(() => false);
  const newest = log.shown.findLast(({ kind }) => kind === 'line');
  if (newest === undefined) return;
  selected.value = newest;
  follow.value = false;
  focusLines();
}

function focusLines(): void {
  document.querySelector<HTMLElement>('.log-lines')?.focus();
}

/** The lines below the other views, while there is a tail. */
export function TailDock() {
  void version.value;
  const [isOpen, setOpen] = useState(true);
  if (tail.phase === 'idle') return null;
  const show = (row?: Row) => {
    selected.value = row;
    location.assign(href('tail', undefined, tailQuery.value));
  };
  return (
    <section class="dock" aria-label="Tail">
      <div class="bar">
        <button type="button" class="link" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? '▾' : '▸'} Tail
        </button>
        <span class="name">{tail.settings.categories.join(', ')}</span>
        {tail.settings.tenant !== undefined && <span class="muted">for {tail.settings.tenant}</span>}
        {tail.part !== '' && <span class="chip">{tail.part}</span>}
        <TailStatus />
        <span class="bar tools">
          <Button onClick={() => show()}>Show</Button>
          {tail.isRunning ? (
            <Button kind="danger" onClick={() => tail.stop()}>
              Stop
            </Button>
          ) : (
            <Button onClick={closeTail}>Close</Button>
          )}
        </span>
      </div>
      {isOpen && (
        <LogList
          rows={arranged(tail.log.shown, CLOSED)}
          filter={undefined}
          columns={[]}
          wrap={false}
          onSelect={(row) => row && show(row)}
          onToggle={show}
          onTerm={(term) => {
            tailQuery.value = { ...tailQuery.value, filter: withTerm(tailQuery.value.filter ?? '', term) };
            show();
          }}
          live={false}
        />
      )}
    </section>
  );
}

const CLOSED = { fold: true, byTrace: false, open: new Set<string>() };

/** Hands a file to the browser's downloads. */
function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/x-ndjson' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The download has taken it over by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
