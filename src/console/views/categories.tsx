import { useMemo, useRef, useState } from 'preact/hooks';
import type { DiscoveredCategory } from '../../protocol/messages.ts';
import { Button } from '../parts/button.tsx';
import { counted } from '../parts/counted.ts';
import { Empty, Loading } from '../parts/notice.tsx';
import { shortNumber } from '../parts/numbers.ts';
import { VirtualList } from '../parts/virtual-list.tsx';
import type { Intent } from '../state/change.ts';
import type { Connection } from '../state/connection.ts';
import { differingTenants } from '../state/differing.ts';
import { intentsOf } from '../state/intents.ts';
import {
  FILTERS,
  type Filter,
  GROUPINGS,
  type Listing,
  listingOf,
  ON_NOW,
  queryOf,
  rowsOf,
  type Sorting,
} from '../state/listing.ts';
import { replaceQuery } from '../state/use-route.ts';
import { useShortcuts } from '../state/use-shortcuts.ts';
import { useStore } from '../state/use-store.ts';
import { useCalmOrder } from './calm-order.ts';
import { CategoryRow } from './category-row.tsx';
import { useListKeys } from './list-keys.ts';
import type { ViewProps } from './view.ts';

const FILTER_TITLES: Readonly<Record<Filter, string>> = { on: 'On', adopted: 'Adopted', calls: 'Has calls' };
const GROUPING_TITLES = { prefix: 'Group by prefix', source: 'Group by source', none: 'No groups' } as const;
/** What each column is, and which order it stands for. */
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

/** Row heights in rem: in one line, and as a card. */
const ROW_REM = 3.5;
const CARD_REM = 8;
const GROUP_REM = 2.75;
/** Width of the window below which rows are cards. */
const NARROW_REM = 75;

/** All categories, and what is on. */
export function CategoriesView({ connection, route }: ViewProps) {
  const categories = useStore(connection, (state) => state.categories);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const listing = listingOf(route.query);
  const show = (changed: Partial<Listing>) => replaceQuery('categories', queryOf({ ...listing, ...changed }));
  const search = useRef<HTMLInputElement>(null);
  useShortcuts(connection, { '/': () => search.current?.focus() });

  if (categories === undefined) return <Loading what="categories" />;
  return (
    <>
      <div class="bar">
        <input
          ref={search}
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
        <Choice
          label="Groups"
          of={GROUPINGS}
          titles={GROUPING_TITLES}
          value={listing.grouping}
          onChoose={(grouping) => show({ grouping })}
        />
      </div>
      <List
        connection={connection}
        categories={categories}
        listing={listing}
        selected={selected}
        onSelected={setSelected}
        onShow={show}
      />
      {selected.size > 0 && (
        <SelectionBar connection={connection} selected={selected} onClear={() => setSelected(new Set())} />
      )}
    </>
  );
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly of: readonly T[];
  readonly titles: Readonly<Record<T, string>>;
  readonly value: T;
  readonly onChoose: (value: T) => void;
}

function Choice<T extends string>({ label, of, titles, value, onChoose }: ChoiceProps<T>) {
  return (
    <select aria-label={label} value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value as T)}>
      {of.map((each) => (
        <option key={each} value={each}>
          {titles[each]}
        </option>
      ))}
    </select>
  );
}

function focusList(event: KeyboardEvent): void {
  event.preventDefault();
  document.querySelector<HTMLElement>('[role=grid] a[tabindex="0"]')?.focus();
}

interface ListProps {
  readonly connection: Connection;
  readonly categories: ReadonlyMap<string, DiscoveredCategory>;
  readonly listing: Listing;
  readonly selected: ReadonlySet<string>;
  readonly onSelected: (selected: ReadonlySet<string>) => void;
  readonly onShow: (changed: Partial<Listing>) => void;
}

function List({ connection, categories, listing, selected, onSelected, onShow }: ListProps) {
  const rates = useStore(connection, (state) => state.rates);
  const tenants = useStore(connection, (state) => state.tenants);
  const tenant = useStore(connection, (state) => state.tenant);
  const grid = useRef<HTMLDivElement>(null);
  const order = useCalmOrder(grid);
  const rateOf = ({ name, metrics }: DiscoveredCategory) =>
    rates === undefined ? metrics.callsPerSecond : (rates.categories[name] ?? 0);
  const differing = useMemo(
    () => (tenants === undefined || tenant !== undefined ? undefined : differingTenants(categories, tenants)),
    [categories, tenants, tenant],
  );
  const listed = JSON.stringify(listing);
  const ordered = listing.sorting === 'calls' || listing.filters.includes('calls') ? order : 0;
  const isOnForSome = ({ name, enabled }: DiscoveredCategory) => !enabled && differing?.has(name) === true;
  const rows = useMemo(
    () => rowsOf(categories.values(), listing, { rateOf, isOnForSome }),
    [categories, listed, ordered, differing],
  );
  const { maySwitch } = connection;
  const toggle = (name: string) => {
    const next = new Set(selected);
    if (!next.delete(name)) next.add(name);
    onSelected(next);
  };
  const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  const narrow = innerWidth < NARROW_REM * rem;
  const names = rows.map((row) => (row.kind === 'category' ? row.category.name : undefined));
  const keys = useListKeys({
    names,
    grid,
    onKey: (key, name) => {
      const category = categories.get(name);
      if (category === undefined || !maySwitch || !connection.store.state.shortcuts) return false;
      const wanted = { e: ['enable', 'prolong'], d: ['end', 'disable'] }[key];
      if (key === 'x') toggle(name);
      else if (wanted === undefined) return false;
      const intent = intentsOf(category, connection.shownTenant).find(([each]) => wanted?.includes(each))?.[0];
      if (intent !== undefined) connection.ask(intent, [name]);
      return true;
    },
  });

  const shown = rows.reduce((count, { kind }) => (kind === 'category' ? count + 1 : count), 0);
  let on = 0;
  for (const { enabled } of categories.values()) if (enabled) on += 1;
  return (
    <>
      <p class="summary muted">
        {shown === categories.size
          ? counted(shown, 'category', 'categories')
          : `${shown} of ${categories.size} categories`}
        {' · '}
        {on} on{' · '}
        {shortNumber(rates?.callsPerSecond ?? 0)} calls/s
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
          aria-multiselectable={maySwitch}
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
                {sorting === undefined ? (
                  title
                ) : (
                  <button type="button" class="link" onClick={() => onShow({ sorting })}>
                    {title}
                  </button>
                )}
                {more}
              </div>
            ))}
          </div>
          <VirtualList
            items={rows}
            keyOf={(row) => (row.kind === 'group' ? `group ${row.title}` : row.category.name)}
            rowHeight={({ kind }) => rem * (kind === 'group' ? GROUP_REM : narrow ? CARD_REM : ROW_REM)}
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
                  category={row.category}
                  index={index + 2}
                  current={index === keys.index}
                  selected={selected.has(row.category.name)}
                  maySwitch={maySwitch}
                  rate={rateOf(row.category)}
                  live={rates?.budgets?.[row.category.name]}
                  rates={connection.history.of(row.category.name)}
                  tenant={connection.shownTenant}
                  differing={differing?.get(row.category.name) ?? []}
                  onSelect={() => toggle(row.category.name)}
                  onAsk={(intent) => connection.ask(intent, [row.category.name])}
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
  readonly connection: Connection;
  readonly selected: ReadonlySet<string>;
  readonly onClear: () => void;
}

const SELECTED: readonly (readonly [Intent, string])[] = [
  ['enable', 'Enable…'],
  ['toggle', 'Toggle…'],
  ['disable', 'Disable…'],
  ['end', 'End now…'],
];

/** What can be done with several at once. */
function SelectionBar({ connection, selected, onClear }: SelectionBarProps) {
  const names = [...selected].sort();
  return (
    <section class="bar selection" aria-label="Selected categories">
      <strong>{names.length} selected</strong>
      {SELECTED.map(([intent, title]) => (
        <Button key={intent} onClick={() => connection.ask(intent, names)}>
          {title}
        </Button>
      ))}
      <Button kind="quiet" onClick={onClear}>
        Clear
      </Button>
    </section>
  );
}
