import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { partOfFleet } from '../../../wire/counted-calls.ts';
import type { DiscoveredCategory } from '../../../wire/messages.ts';
import { counted } from '../../../wire/words/count.ts';
import { isOn } from '../../../wire/words/state.ts';
import { connection, replaceQuery, route, state, useShortcuts } from '../page.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { shortNumber } from '../parts/format.ts';
import { Empty, Loading } from '../parts/notice.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import type { Intent } from '../state/intents.ts';
import {
  FILTERS,
  type Filter,
  GROUPINGS,
  type Grouping,
  type Listing,
  listingOf,
  ON_NOW,
  queryOf,
  rowsOf,
  type Sorting,
} from '../state/listing.ts';
import { CategoryRow, isPlain } from './category-row.tsx';
import { Forecast } from './forecast.tsx';
import { useCalmOrder, useListKeys } from './list-keys.ts';
import { tailOf } from './tail/running-tail.ts';

const FILTER_TITLES: Readonly<Record<Filter, string>> = { on: 'On', adopted: 'Adopted', calls: 'Has calls' };
const GROUPING_TITLES = { prefix: 'Group by prefix', source: 'Group by source', none: 'No groups' } as const;
/** The columns, and the order that each stands for. */
const COLUMNS: readonly (readonly [title: string, sorting?: Sorting, more?: string])[] = [
  ['Selection'],
  ['State'],
  ['Category', 'name'],
  ['For whom'],
  ['Time left', 'left', ' · who and why'],
  ['Calls', 'calls'],
  ['Budget'],
  ['Actions'],
];

/** Row heights in rem: in one line for what is off, in two, and as a card. */
const LINE_REM = 1.8;
const ROW_REM = 3.1;
const CARD_REM = 8;
const GROUP_REM = 2;
/** Width of the window below which rows are cards. */
const NARROW_REM = 48;

/** Height of a line of text as people have set it, in pixels, and whether rows are cards. Follows the size of the window. */
function useWindow(): { readonly rem: number; readonly narrow: boolean } {
  const look = () => {
    const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
    return { rem, narrow: innerWidth < NARROW_REM * rem };
  };
  const [window, setWindow] = useState(look);
  useEffect(() => {
    const follow = () => setWindow(look());
    addEventListener('resize', follow);
    return () => removeEventListener('resize', follow);
  }, []);
  return window;
}

/** All categories, and what is on. */
export function CategoriesView() {
  const categories = state.categories.value;
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const listing = listingOf(route.value.query);
  const show = (changed: Partial<Listing>) => replaceQuery('categories', queryOf({ ...listing, ...changed }));
  if (categories === undefined) return <Loading what="categories" />;
  return (
    <>
      <div class="bar">
        <input
          type="search"
          class="search"
          aria-label="Search categories"
          placeholder="Search names, descriptions, sources"
          value={listing.search}
          onInput={({ currentTarget }) => show({ search: currentTarget.value })}
          onKeyDown={(event) => {
            if (event.key === 'Escape') show({ search: '' });
            if (event.key === 'ArrowDown') focusList(event);
          }}
        />
        <fieldset class="bar" aria-label="Show only">
          {FILTERS.map((filter) => {
            const pressed = listing.filters.includes(filter);
            return (
              <button
                key={filter}
                type="button"
                class="filter"
                aria-pressed={pressed}
                onClick={() =>
                  show({
                    filters: pressed ? listing.filters.filter((each) => each !== filter) : [...listing.filters, filter],
                  })
                }
              >
                {FILTER_TITLES[filter]}
              </button>
            );
          })}
        </fieldset>
        <select
          aria-label="Groups"
          value={listing.grouping}
          onChange={({ currentTarget }) => show({ grouping: currentTarget.value as Grouping })}
        >
          {GROUPINGS.map((grouping) => (
            <option key={grouping} value={grouping}>
              {GROUPING_TITLES[grouping]}
            </option>
          ))}
        </select>
        {connection.mayMeasure && categories.size > 0 && <MeasureAll />}
      </div>
      <List categories={categories} listing={listing} selected={selected} onSelected={setSelected} onShow={show} />
      {selected.size > 0 && <SelectionBar selected={selected} onClear={() => setSelected(new Set())} />}
    </>
  );
}

function focusList(event: KeyboardEvent): void {
  event.preventDefault();
  document.querySelector<HTMLElement>('[role=grid] a[tabindex="0"]')?.focus();
}

interface ListProps {
  readonly categories: ReadonlyMap<string, DiscoveredCategory>;
  readonly listing: Listing;
  readonly selected: ReadonlySet<string>;
  readonly onSelected: (selected: ReadonlySet<string>) => void;
  readonly onShow: (changed: Partial<Listing>) => void;
}

function List({ categories, listing, selected, onSelected, onShow }: ListProps) {
  const rates = state.rates.value;
  const grid = useRef<HTMLDivElement>(null);
  const order = useCalmOrder(grid);
  const listed = JSON.stringify(listing);
  // A row that is switched stays in its place while it is looked at.
  const rows = useMemo(
    () => rowsOf(categories.values(), listing, (category) => connection.rateOf(category)),
    [categories.size, listed, order, state.measured.value],
  );
  const { maySwitch } = connection;
  const maySelect = maySwitch || connection.mayTail;
  const names = rows.map((row) => (row.kind === 'category' ? row.name : undefined));
  const anchor = useRef<string>(undefined);
  /** @param extend whether all rows from the one that was selected last are meant */
  const toggle = (name: string, extend: boolean) => {
    const next = new Set(selected);
    const [from, to] = [names.indexOf(anchor.current ?? name), names.indexOf(name)].sort((a, b) => a - b);
    if (extend && from !== undefined && from >= 0) {
      for (const each of names.slice(from, (to ?? from) + 1)) if (each !== undefined) next.add(each);
    } else if (!next.delete(name)) next.add(name);
    anchor.current = name;
    onSelected(next);
  };
  const selectAll = () =>
    onSelected(selected.size > 0 ? new Set() : new Set(names.filter((name) => name !== undefined)));
  useShortcuts({
    ...(maySelect && { a: selectAll }),
    ...(connection.mayMeasure && { m: () => document.querySelector<HTMLElement>('.measure-all')?.click() }),
  });
  const { rem, narrow } = useWindow();
  const keys = useListKeys({
    names,
    grid,
    onKey: (key, name) => {
      const category = categories.get(name);
      if (category === undefined || !state.shortcuts.value) return false;
      if (key === 't' && connection.mayTail) {
        tailOf(selected.has(name) ? [...selected] : [name]);
        return true;
      }
      if (maySelect && key.toLowerCase() === 'x') {
        toggle(name, key === 'X');
        return true;
      }
      const wanted = { e: ['enable', 'extend'], d: ['end', 'disable'] }[key];
      if (wanted === undefined) return false;
      const intent = connection.offers(category).find(([each]) => wanted.includes(each))?.[0];
      if (intent !== undefined) connection.ask(intent, [name]);
      return true;
    },
  });

  const shown = rows.reduce((count, { kind }) => (kind === 'category' ? count + 1 : count), 0);
  let on = 0;
  for (const category of categories.values()) if (isOn(category)) on += 1;
  return (
    <>
      <p class="summary muted">
        {shown === categories.size
          ? counted(shown, 'category', 'categories')
          : `${shown} of ${categories.size} categories`}
        {' · '}
        {on} on{' · '}
        {rates === undefined ? '-' : shortNumber(rates.callsPerSecond)} calls/s {partOfFleet(rates?.instances)}
      </p>
      {shown === 0 && (
        <Empty title={categories.size === 0 ? 'No categories yet' : 'Nothing matches'}>
          {categories.size > 0 && <Button onClick={() => onShow({ search: '', filters: [] })}>Show all</Button>}
        </Empty>
      )}
      {shown > 0 && (
        <div
          ref={grid}
          role="grid"
          class={narrow ? 'grid cards' : 'grid'}
          aria-label="Categories"
          aria-rowcount={rows.length + 1}
          aria-multiselectable={maySelect}
          onKeyDown={keys.onKeyDown}
          onFocusIn={keys.onFocusIn}
        >
          <div role="row" aria-rowindex={1} class="row category head">
            {COLUMNS.map(([title, sorting, more]) => (
              <div
                key={title}
                role="columnheader"
                aria-sort={sorting !== listing.sorting ? undefined : sorting === 'calls' ? 'descending' : 'ascending'}
              >
                {title === 'Selection' && maySelect ? (
                  <input
                    type="checkbox"
                    aria-label="Select all"
                    tabIndex={-1}
                    checked={selected.size > 0}
                    indeterminate={selected.size > 0 && selected.size < shown}
                    onChange={selectAll}
                  />
                ) : sorting === undefined ? (
                  title
                ) : (
                  <button type="button" class="link" onClick={() => onShow({ sorting })}>
                    {title}
                  </button>
                )}
                {more && <span class="more">{more}</span>}
              </div>
            ))}
          </div>
          <VirtualList
            items={rows}
            keyOf={(row) => (row.kind === 'group' ? `group ${row.title}` : row.name)}
            rowHeight={(row) => {
              if (row.kind === 'group') return rem * GROUP_REM;
              if (narrow) return rem * CARD_REM;
              return rem * (isPlain(categories.get(row.name) ?? row.category) ? LINE_REM : ROW_REM);
            }}
            keep={keys.index}
            renderRow={(row, index) =>
              row.kind === 'group' ? (
                <div role="row" aria-rowindex={index + 2} class="row group">
                  <div role="gridcell">
                    <strong>{row.title}</strong>{' '}
                    <span class="muted">
                      {row.count}
                      {row.on > 0 && row.title !== ON_NOW && `, ${row.on} on`}
                    </span>
                  </div>
                </div>
              ) : (
                <CategoryRow
                  category={categories.get(row.name) ?? row.category}
                  index={index + 2}
                  current={index === keys.index}
                  selected={selected.has(row.name)}
                  onSelect={maySelect ? (extend) => toggle(row.name, extend) : undefined}
                />
              )
            }
          />
        </div>
      )}
    </>
  );
}

/** Measures for two seconds what the categories that are off would write. */
function MeasureAll() {
  const [busy, setBusy] = useState(false);
  const measure = async () => {
    setBusy(true);
    try {
      await connection.measureAll();
      state.announcement.value = 'Measured';
    } catch (error) {
      connection.showProblem(error);
    }
    setBusy(false);
  };
  return (
    <button
      type="button"
      class="button plain measure-all"
      aria-disabled={busy}
      aria-busy={busy}
      title="Measures for two seconds what each category would write"
      onClick={() => void (busy || measure())}
    >
      {busy ? 'Measuring …' : 'Measure all'}
    </button>
  );
}

interface SelectionBarProps {
  readonly selected: ReadonlySet<string>;
  readonly onClear: () => void;
}

const SELECTED: readonly (readonly [Intent, string])[] = [
  ['enable', 'Enable…'],
  ['toggle', 'Toggle…'],
  ['disable', 'Disable…'],
  ['end', 'End now…'],
];

/** What can be done with several categories at once. */
function SelectionBar({ selected, onClear }: SelectionBarProps) {
  const names = [...selected].sort();
  const [measures, setMeasures] = useState(false);
  return (
    <section class="bar selection" aria-label="Selected categories">
      <strong>{names.length} selected</strong>
      {connection.mayTail && <Button onClick={() => tailOf(names)}>Tail</Button>}
      {connection.mayMeasure && <Button onClick={() => setMeasures(true)}>Measure…</Button>}
      {SELECTED.filter(([intent]) => names.every((name) => connection.mayChange(intent, name))).map(
        ([intent, title]) => (
          <Button key={intent} onClick={() => connection.ask(intent, names)}>
            {title}
          </Button>
        ),
      )}
      <Button kind="quiet" onClick={onClear}>
        Clear
      </Button>
      {measures && (
        <Dialog title="Measure the selected categories" onClose={() => setMeasures(false)}>
          <div class="switch">
            <p class="muted">What they would write if they were on. Nothing is switched.</p>
            <Forecast categories={names} tenant={connection.tenant} part={{}} />
          </div>
        </Dialog>
      )}
    </section>
  );
}
