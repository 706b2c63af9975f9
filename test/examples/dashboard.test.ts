import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dashboard } from '../../examples/observability/dashboard.ts';
import { parseRoute } from '../../src/tools/console/state/route.ts';

// What Grafana demands of a dashboard or silently makes something else of, as far as that can be told without one.

type Json = Record<string, unknown>;

interface Link {
  readonly title: string;
  readonly url: string;
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: object;
  readonly links?: readonly Link[];
  readonly targets?: readonly { readonly refId: string; readonly expr: string; readonly legendFormat: string }[];
  readonly fieldConfig?: { defaults: { unit?: string; links?: readonly Link[] } };
}

const model = JSON.parse(JSON.stringify(dashboard())) as Json & {
  panels: Panel[];
  templating: { list: { name: string; type: string; datasource?: object; query: string | { query: string } }[] };
  annotations: { list: { name: string; datasource: object; expr: string }[] };
};
const { panels, templating, annotations } = model;
const charts = panels.filter(({ type }) => type !== 'row');

/** Panels of Grafana itself that are not deprecated. */
const TYPES = ['row', 'stat', 'timeseries', 'state-timeline', 'bargauge', 'table'];
/** Ids of units (`valueFormats` of Grafana). */
const UNITS = ['s', 'cps', 'bytes'];
const BUILT_IN = ['__rate_interval', '__range', '__from', '__to', '__field'];
const linksOf = ({ links = [], fieldConfig }: Panel) => [...links, ...(fieldConfig?.defaults.links ?? [])];

test('panels and their queries have ids of their own, and kinds and units that Grafana knows', () => {
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  for (const { id, type, title, fieldConfig, targets = [] } of panels) {
    assert.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length, title);
    assert.ok(Number.isInteger(id) && id > 0, title);
    assert.notEqual(title, '');
    assert.ok(TYPES.includes(type), `${title}: ${type}`);
    const unit = fieldConfig?.defaults.unit;
    assert.ok(unit === undefined || UNITS.includes(unit), `${title}: ${unit}`);
  }
});

test('panels lie within the 24 columns, and none on another', () => {
  const taken = new Map<string, string>();
  for (const { title, gridPos } of panels) {
    const { x, y, w, h } = gridPos;
    assert.ok(x >= 0 && y >= 0 && w > 0 && h > 0 && x + w <= 24, title);
    for (let column = x; column < x + w; column += 1) {
      for (let line = y; line < y + h; line += 1) {
        const place = `${column},${line}`;
        assert.equal(taken.get(place), undefined, `${title} lies on ${taken.get(place)}`);
        taken.set(place, title);
      }
    }
  }
});

test('everything is asked of the data source that the reader chooses', () => {
  const [first] = templating.list;
  assert.deepEqual([first?.name, first?.type, first?.query], ['datasource', 'datasource', 'prometheus']);
  const queried = templating.list.filter(({ type }) => type === 'query');
  for (const { datasource } of [...charts, ...annotations.list, ...queried]) {
    assert.deepEqual(datasource, { type: 'prometheus', uid: '$datasource' });
  }
});

test('every variable that is used is there, and before those that use it', () => {
  const used = (text: string) => [...text.matchAll(/\$\{?(\w+)/g)].map(([, name = '']) => name);
  const known = new Set(BUILT_IN);
  for (const { name, query } of templating.list) {
    for (const other of used(JSON.stringify(query))) assert.ok(known.has(other), `${name} uses ${other}`);
    known.add(name);
  }
  const queries = [...charts.flatMap(({ targets = [] }) => targets), ...annotations.list].map(({ expr }) => expr);
  assert.ok(queries.length >= charts.length);
  const addresses = charts.flatMap(linksOf).map(({ url }) => url);
  const names = new Set([...queries, ...addresses].flatMap(used));
  for (const name of names) assert.ok(known.has(name), name);
  for (const { name, type } of templating.list)
    assert.ok(type === 'datasource' || names.has(name), `${name} is not used`);
});

test('every panel leads to a view of the console, and series of categories to theirs', () => {
  const views: string[] = [];
  for (const panel of charts) {
    const [prefix, clicked] = [`\${console:raw}`, `\${__field.labels.rdcp_category_name}`];
    const addresses = linksOf(panel).map(({ url }) => url.replace(clicked, 'SQL_POOL'));
    const hashes = addresses.filter((url) => url.startsWith(prefix)).map((url) => url.slice(prefix.length));
    assert.ok(hashes.length > 0, panel.title);
    const routes = hashes.map(parseRoute);
    // An unknown address would be the list of categories.
    for (const [at, hash] of hashes.entries()) assert.ok(hash.startsWith(`#/${routes[at]?.view}`), hash);
    views.push(...routes.map(({ view }) => view));
    const ofCategories = panel.targets?.some(({ legendFormat }) => /rdcp_category_name/.test(legendFormat));
    assert.equal(
      routes.some(({ view, item }) => view === 'categories' && item === 'SQL_POOL'),
      ofCategories,
      panel.title,
    );
    assert.equal(
      routes.some(({ view, query }) => view === 'tail' && query.get('categories') === 'SQL_POOL'),
      ofCategories,
      panel.title,
    );
  }
  assert.deepEqual([...new Set(views)].sort(), ['audit', 'categories', 'fleet', 'health', 'tail', 'tenants']);
});

test('series of a category or a process lead to their traces in Explore, over the time of the dashboard', () => {
  const queries = new Set<string>();
  for (const { url } of charts.flatMap(linksOf).filter(({ url }) => url.startsWith('/'))) {
    const { pathname, searchParams } = new URL(url, 'http://grafana.test');
    assert.equal(pathname, '/explore');
    const { rdcp } = JSON.parse(searchParams.get('panes') ?? '') as Record<string, Json & { queries: Json[] }>;
    assert.deepEqual(rdcp?.range, { from: `\${__from}`, to: `\${__to}` });
    assert.equal(rdcp.datasource, `\${traces}`);
    for (const { query } of rdcp.queries) queries.add(String(query));
    assert.doesNotMatch(url, /%24%7B/, 'Grafana fills in what is not escaped');
  }
  assert.deepEqual(
    [...queries],
    [
      `{ span.rdcp.category.name = "\${__field.labels.rdcp_category_name}" }`,
      `{ resource.service.name = "\${__field.labels.job}" }`,
    ],
  );
});
