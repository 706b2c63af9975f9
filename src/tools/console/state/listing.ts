import type { DiscoveredCategory } from '../../../wire/messages.ts';
import { endOf, isOn, isPartlyOn } from '../../../wire/words/state.ts';
import type { Query } from './route.ts';
import { matchesWords } from './search.ts';

export const GROUPINGS = ['prefix', 'source', 'none'] as const;
export type Grouping = (typeof GROUPINGS)[number];
const SORTINGS = ['name', 'calls', 'left'] as const;
export type Sorting = (typeof SORTINGS)[number];
export const FILTERS = ['on', 'adopted', 'calls'] as const;
export type Filter = (typeof FILTERS)[number];

/** The search, filters and order of the list. */
export interface Listing {
  readonly search: string;
  readonly filters: readonly Filter[];
  readonly grouping: Grouping;
  readonly sorting: Sorting;
}

export type Row =
  | { readonly kind: 'group'; readonly title: string; readonly count: number; readonly on: number }
  | { readonly kind: 'category'; readonly name: string; readonly category: DiscoveredCategory };

/** The listing that an address asks for. */
export function listingOf(query: URLSearchParams): Listing {
  const filters = (query.get('show') ?? '').split(',');
  return {
    search: query.get('q') ?? '',
    filters: FILTERS.filter((filter) => filters.includes(filter)),
    grouping: GROUPINGS.find((grouping) => grouping === query.get('group')) ?? 'prefix',
    sorting: SORTINGS.find((sorting) => sorting === query.get('sort')) ?? 'name',
  };
}

/** The address's query for a listing; defaults are left out. */
export function queryOf({ search, filters, grouping, sorting }: Listing): Query {
  return {
    q: search,
    show: filters.join(','),
    group: grouping === 'prefix' ? '' : grouping,
    sort: sorting === 'name' ? '' : sorting,
  };
}

/** Calls a second; `undefined` where they are not measured. */
type RateOf = (category: DiscoveredCategory) => number | undefined;

/** The categories that the listing finds, in groups. Categories that were switched on come first. */
export function rowsOf(categories: Iterable<DiscoveredCategory>, listing: Listing, rateOf: RateOf): Row[] {
  const found = [...categories].filter(
    (category) =>
      listing.filters.every((filter) => passes(category, filter, rateOf)) &&
      matchesWords(searchedText(category), listing.search),
  );
  found.sort(orderBy(listing.sorting, rateOf));
  // What is called most is looked for in all of them.
  if (listing.grouping === 'none' || listing.sorting === 'calls') return found.map(rowOf);
  const titleOf = listing.grouping === 'source' ? sourceOf : prefixTitles(found);
  return [
    ...Map.groupBy(found, (category) => (isSwitchedOn(category) || isPartlyOn(category) ? ON_NOW : titleOf(category))),
  ]
    .sort(([a], [b]) => placeOf(a) - placeOf(b) || (a < b ? -1 : 1))
    .flatMap(([title, members]) => [
      { kind: 'group' as const, title, count: members.length, on: members.filter(({ enabled }) => enabled).length },
      ...members.map(rowOf),
    ]);
}

/** Categories that were switched on, for everybody, for some tenant or for some work. */
export const ON_NOW = 'On now';
const OTHERS = 'Others';

function placeOf(title: string): number {
  return title === ON_NOW ? 0 : title === OTHERS ? 2 : 1;
}

function rowOf(category: DiscoveredCategory): Row {
  return { kind: 'category', name: category.name, category };
}

/** On, and not only because that is its default. */
export function isSwitchedOn({ enabled, otelrdcp_origin }: DiscoveredCategory): boolean {
  return enabled && otelrdcp_origin !== 'default';
}

function passes(category: DiscoveredCategory, filter: Filter, rateOf: RateOf): boolean {
  if (filter === 'on') return isOn(category);
  if (filter === 'adopted') return category.otelrdcp_source !== undefined;
  return category.metrics.callsTotal > 0 || (rateOf(category) ?? 0) > 0;
}

function searchedText({ name, description, otelrdcp_source: source }: DiscoveredCategory): string {
  return `${name} ${description} ${source === undefined ? '' : `${source.kind} ${source.name}`}`;
}

function orderBy(sorting: Sorting, rateOf: RateOf): (a: DiscoveredCategory, b: DiscoveredCategory) => number {
  const byName = (a: DiscoveredCategory, b: DiscoveredCategory) => (a.name < b.name ? -1 : 1);
  if (sorting === 'name') return byName;
  const weightOf = (category: DiscoveredCategory): number => {
    // What is not measured comes after what is silent.
    if (sorting === 'calls') return -(rateOf(category) ?? -1);
    const end = endOf(category);
    return end === undefined ? Number.MAX_VALUE : Date.parse(end);
  };
  return (a, b) => weightOf(a) - weightOf(b) || byName(a, b);
}

/** `SQL_POOL` belongs to `SQL_…` where another category begins so. */
function prefixTitles(categories: readonly DiscoveredCategory[]): (category: DiscoveredCategory) => string {
  const groups = Map.groupBy(categories, prefixOf);
  return (category) => {
    const prefix = prefixOf(category);
    return groups.get(prefix)?.[1] === undefined ? OTHERS : prefix;
  };
}

function prefixOf({ name }: DiscoveredCategory): string {
  return /^(?:X-)?[A-Z0-9]+/.exec(name)?.[0] ?? name;
}

/** Libraries are named as they write themselves. */
function sourceOf({ otelrdcp_source: source }: DiscoveredCategory): string {
  return source?.kind ?? 'The service itself';
}
