import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { isCounted, partOfFleet } from '../../../wire/counted-calls.ts';
import type { DiscoveredCategory } from '../../../wire/messages.ts';
import { counted } from '../../../wire/words/count.ts';
import { isOn } from '../../../wire/words/state.ts';
import { connection, replaceQuery, route, state, useShortcuts } from '../page.ts';
import { Button, Toggle } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Select } from '../parts/fields.tsx';
import { shortNumber } from '../parts/format.ts';
import { Empty, Loading } from '../parts/notice.tsx';
import { SearchBar } from '../parts/search-bar.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { type Intent, isForEverybody, VERBS } from '../state/intents.ts';
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
import { EVERYTHING } from '../state/part.ts';
import { spansOf } from '../state/spans.ts';
import { CategoryRow, isPlain } from './category-row.tsx';
import { Forecast } from './forecast.tsx';
import { useCalmOrder, useListKeys } from './list-keys.ts';
import { tailOf } from './tail/running-tail.ts';
import { WhoIsOn } from './who-is-on.tsx';

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

/** Row heights in rem for what is off and for what is set: as a row, and as a card. */
const ROW_REMS = [1.8, 3.1] as const;
const CARD_REMS = [6.2, 8.4] as const;
const GROUP_REM = 2;
/** How far back the picture of what is on goes, in milliseconds. */
const BACK_MS = 2 * 3600_000;
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
      <SearchBar
        label="Search categories"
        value={listing.search}
        onSearch={(search) => show({ search })}
        input={{
          placeholder: 'Search names, descriptions, sources',
          onKeyDown: (event) => {
            if (event.key === 'Escape') show({ search: '' });
            if (event.key === 'ArrowDown') focusList(event);
          },
        }}
      >
        <fieldset class="bar" aria-label="Show only">
          {FILTERS.map((filter) => (
            <Toggle
              key={filter}
              pressed={listing.filters.includes(filter)}
              onPress={(pressed) => {
                const others = listing.filters.filter((each) => each !== filter);
                show({ filters: pressed ? [...others, filter] : others });
              }}
            >
              {FILTER_TITLES[filter]}
            </Toggle>
          ))}
        </fieldset>
        <Select
          label="Groups"
          value={listing.grouping}
          options={GROUPINGS.map((grouping) => [grouping, GROUPING_TITLES[grouping]])}
          onChoose={(grouping) => show({ grouping: grouping as Grouping })}
        />
        {connection.mayMeasure() && categories.size > 0 && (
          <Button
            busy={state.isMeasuring.value}
            title="Measures for two seconds what each category would write"
            onClick={() => connection.measureAll()}
          >
            {state.isMeasuring.value ? 'Measuring …' : 'Measure all'}
          </Button>
        )}
      </SearchBar>
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
  const { maySwitch, shownTenant: tenant } = connection;
  const spans = [...categories.values()].flatMap((category) =>
    spansOf(category, isForEverybody(category, tenant) ? undefined : tenant),
  );
  // Nor does it move because there is another lane above it.
  const lanes = useMemo(() => spans, [categories.size, order]);
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
    ...(connection.mayMeasure() && { m: () => void connection.measureAll() }),
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
      if (key === 'r' && connection.mayChange('reset', name)) {
        connection.ask('reset', [name]);
        return true;
      }
      const wanted = { e: ['enable', 'extend'], d: ['end', 'off', 'disable'] }[key];
      if (wanted === undefined) return false;
      const intent = connection.offers(category).find(([each]) => wanted.includes(each))?.[0];
      if (intent !== undefined) connection.ask(intent, [name]);
      return true;
    },
  });

  const shown = rows.filter(({ kind }) => kind === 'category').length;
  const on = [...categories.values()].filter(isOn).length;
  // Without one that counts its calls there is no rate, not a rate of 0.
  const counts = [...categories.values()].some(isCounted);
  // Of what has no name in particular: why buttons are missing.
  const why = connection.whyNot('');
  return (
    <>
      <WhoIsOn label="Who is on when" lanes={lanes} spans={spans} back={BACK_MS} />
      <p class="summary muted">
        {shown === categories.size
          ? counted(shown, 'category', 'categories')
          : `${shown} of ${categories.size} categories`}
        {' · '}
        {on} on{' · '}
        {rates === undefined || !counts ? '-' : shortNumber(rates.callsPerSecond)} calls/s{' '}
        {partOfFleet(rates?.instances)} {why}
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
              const [off, set] = narrow ? CARD_REMS : ROW_REMS;
              return rem * (isPlain(categories.get(row.name) ?? row.category) ? off : set);
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

interface SelectionBarProps {
  readonly selected: ReadonlySet<string>;
  readonly onClear: () => void;
}

const SELECTED: readonly Intent[] = ['enable', 'toggle', 'disable', 'end'];

/** What can be done with several categories at once. */
function SelectionBar({ selected, onClear }: SelectionBarProps) {
  const names = [...selected].sort();
  const [measures, setMeasures] = useState(false);
  return (
    <section class="bar selection" aria-label="Selected categories">
      <strong>{names.length} selected</strong>
      {connection.mayTail && <Button onClick={() => tailOf(names)}>Tail</Button>}
      {connection.mayMeasure(names) && <Button onClick={() => setMeasures(true)}>Measure…</Button>}
      {SELECTED.filter((intent) => names.every((name) => connection.mayChange(intent, name))).map((intent) => (
        <Button key={intent} onClick={() => connection.ask(intent, names)}>
          {VERBS[intent]}…
        </Button>
      ))}
      {names.every((name) => connection.mayChange('enable', name)) && (
        <Button onClick={() => connection.ask('enable', names, { part: { ...EVERYTHING, failed: true } })}>
          Record failures…
        </Button>
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
