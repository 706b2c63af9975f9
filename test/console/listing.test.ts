import assert from 'node:assert/strict';
import { test } from 'node:test';
import { differingTenants } from '../../src/console/state/differing.ts';
import { type Listing, listingOf, queryOf, rowsOf } from '../../src/console/state/listing.ts';
import { href, parseRoute } from '../../src/console/state/route.ts';
import type { DiscoveredCategory, TenantSummary } from '../../src/protocol/messages.ts';

type Given = Partial<DiscoveredCategory> & { readonly name: string };

function category(given: Given): DiscoveredCategory {
  return {
    description: '',
    enabled: false,
    temporary: false,
    metrics: { callsTotal: 0, callsPerSecond: 0 },
    otelrdcp_default: false,
    otelrdcp_origin: 'default',
    ...given,
  };
}

const CATEGORIES: readonly DiscoveredCategory[] = [
  { name: 'SQL_POOL', description: 'Connections to the database' },
  {
    name: 'SQL_QUERY',
    enabled: true,
    otelrdcp_origin: 'temporary' as const,
    otelrdcp_expiresAt: '2026-01-01T00:10:00.000Z',
  },
  { name: 'AUDIT', enabled: true, metrics: { callsTotal: 5, callsPerSecond: 0 } },
  { name: 'X-KOA', otelrdcp_source: { kind: 'debug' as const, name: 'koa:router', count: 1 } },
  { name: 'CACHE', enabled: true, otelrdcp_origin: 'global' as const },
].map(category);
const PLAIN: Listing = { search: '', filters: [], grouping: 'prefix', sorting: 'name' };
const RATES: Readonly<Record<string, number>> = { CACHE: 2, SQL_POOL: 9 };

function list(change: Partial<Listing>, onForSome: readonly string[] = []): string[] {
  const calls = {
    rateOf: ({ name }: DiscoveredCategory) => RATES[name] ?? 0,
    isOnForSome: ({ name }: DiscoveredCategory) => onForSome.includes(name),
  };
  return rowsOf(CATEGORIES, { ...PLAIN, ...change }, calls).map((row) =>
    row.kind === 'group' ? `# ${row.title} ${row.count}` : row.category.name,
  );
}

test('what somebody switched on comes first, then groups by prefix, and what has no group last', () => {
  assert.deepEqual(list({}), [
    '# On now 2',
    'CACHE',
    'SQL_QUERY',
    '# SQL 1',
    'SQL_POOL',
    '# Others 2',
    'AUDIT',
    'X-KOA',
  ]);
});

test('what is on for a tenant alone is among what is on now', () => {
  assert.deepEqual(list({}, ['AUDIT']).slice(0, 4), ['# On now 3', 'AUDIT', 'CACHE', 'SQL_QUERY']);
});

test('groups by source are named as the libraries are', () => {
  assert.deepEqual(list({ grouping: 'source', search: 'k' }), ['# debug 1', 'X-KOA']);
});

test('every word of a search is looked for in name, description and source', () => {
  const found = (search: string) => list({ search, grouping: 'none' });
  assert.deepEqual(found('sql'), ['SQL_POOL', 'SQL_QUERY']);
  assert.deepEqual(found('SQL database'), ['SQL_POOL']);
  assert.deepEqual(found('koa:router debug'), ['X-KOA']);
  assert.deepEqual(found('sql koa'), []);
});

test('filters narrow down together', () => {
  const found = (...filters: Listing['filters']) => list({ filters, grouping: 'none' });
  assert.deepEqual(found('on'), ['AUDIT', 'CACHE', 'SQL_QUERY']);
  assert.deepEqual(found('calls'), ['AUDIT', 'CACHE', 'SQL_POOL']);
  assert.deepEqual(found('on', 'calls'), ['AUDIT', 'CACHE']);
  assert.deepEqual(found('adopted'), ['X-KOA']);
});

test('order by calls, and by the time that is left', () => {
  assert.deepEqual(list({ sorting: 'calls', grouping: 'none' }).slice(0, 3), ['SQL_POOL', 'CACHE', 'AUDIT']);
  assert.deepEqual(list({ sorting: 'left', grouping: 'none' })[0], 'SQL_QUERY');
});

test('the address keeps a listing, and nonsense in it is the usual one', () => {
  const listing: Listing = { search: 'a b&c', filters: ['on', 'calls'], grouping: 'none', sorting: 'left' };
  assert.deepEqual(listingOf(parseRoute(href('categories', undefined, queryOf(listing))).query), listing);
  assert.equal(href('categories', undefined, queryOf(PLAIN)), '#/categories');
  assert.deepEqual(listingOf(new URLSearchParams('show=x,on&group=y&sort=z')), { ...PLAIN, filters: ['on'] });
});

test('tenants for whom a category is otherwise than for everybody are named', () => {
  const known = new Map(CATEGORIES.map((each) => [each.name, each]));
  const tenants = [
    { id: 'acme', categories: { CACHE: true, SQL_POOL: true, GONE: true } },
    { id: 'globex', categories: { CACHE: false, SQL_POOL: true } },
  ] as unknown as TenantSummary[];
  assert.deepEqual(Object.fromEntries(differingTenants(known, tenants)), {
    SQL_POOL: ['acme', 'globex'],
    CACHE: ['globex'],
  });
});
