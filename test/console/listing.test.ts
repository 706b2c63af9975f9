import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Listing, listingOf, queryOf, rowsOf } from '../../src/tools/console/state/listing.ts';
import { href, parseRoute } from '../../src/tools/console/state/route.ts';
import type { DiscoveredCategory } from '../../src/wire/messages.ts';
import { discovered } from './discovered.ts';

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
].map(discovered);
const PLAIN: Listing = { search: '', filters: [], grouping: 'prefix', sorting: 'name' };
const RATES: Readonly<Record<string, number>> = { CACHE: 2, SQL_POOL: 9 };

function list(change: Partial<Listing>, categories = CATEGORIES): string[] {
  return rowsOf(categories, { ...PLAIN, ...change }, ({ name }) => RATES[name]).map((row) =>
    row.kind === 'group' ? `# ${row.title} ${row.count}` : row.category.name,
  );
}

test('categories that were switched on come first, then groups by prefix, then categories without a group', () => {
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

test('a category that is on for one tenant, or for some work, alone is among those that are on now', () => {
  const expiresAt = '2026-01-01T00:05:00.000Z';
  const acme = { id: 'acme', enabled: true, temporary: true, expiresAt };
  const partly = [
    discovered({ name: 'TENANT', otelrdcp_settings: { temporary: 1, permanent: 0, tenants: [acme], more: 0 } }),
    discovered({ name: 'WORK', otelrdcp_activations: [{ id: 'a', categories: ['WORK'], expiresAt }] }),
  ];
  const all = [...CATEGORIES, ...partly];
  assert.deepEqual(list({}, all).slice(0, 5), ['# On now 4', 'CACHE', 'SQL_QUERY', 'TENANT', 'WORK']);
  assert.deepEqual(list({ filters: ['on'], grouping: 'none' }, partly), ['TENANT', 'WORK']);
  assert.deepEqual(list({ sorting: 'left', grouping: 'none' }, all).slice(0, 3), ['TENANT', 'WORK', 'SQL_QUERY']);
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
  assert.deepEqual(list({ sorting: 'calls' }).slice(0, 2), ['SQL_POOL', 'CACHE'], 'without groups');
  assert.deepEqual(list({ sorting: 'left', grouping: 'none' })[0], 'SQL_QUERY');
});

test('the address keeps a listing, and nonsense in it is the usual one', () => {
  const listing: Listing = { search: 'a b&c', filters: ['on', 'calls'], grouping: 'none', sorting: 'left' };
  assert.deepEqual(listingOf(parseRoute(href('categories', undefined, queryOf(listing))).query), listing);
  assert.equal(href('categories', undefined, queryOf(PLAIN)), '#/categories');
  assert.deepEqual(listingOf(new URLSearchParams('show=x,on&group=y&sort=z')), { ...PLAIN, filters: ['on'] });
});
