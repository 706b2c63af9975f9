import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import { type DashboardLink, DashboardLinkBuilder, DashboardLinkType } from '@grafana/grafana-foundation-sdk/dashboard';

/** The category of the line, bar or row that was clicked. Names have no character that an address would have to escape. */
const CLICKED = `\${__field.labels.rdcp_category_name}`;

/** A link that opens beside the dashboard. */
function link(title: string, url: string): Builder<DashboardLink> {
  return new DashboardLinkBuilder(title).type(DashboardLinkType.Link).url(url).targetBlank(true);
}

/** A link to a view of the console, whose address is the dashboard's variable: `tenants`, `audit?action=authenticate`. */
export function consoleLink(title: string, view: string): Builder<DashboardLink> {
  return link(title, `\${console:raw}#/${view}`);
}

/** From the data of a category to the same in the console, and to traces with a span of it. */
export const categoryLinks = [
  consoleLink('Category in the console', `categories/${CLICKED}`),
  consoleLink('Tail in the console', `tail?categories=${CLICKED}`),
  link('Traces with a span of the category', exploreTraces(`{ span.rdcp.category.name = "${CLICKED}" }`)),
];

/** From the data of a process to the traces of its service. */
export const processLinks = [
  consoleLink('Processes in the console', 'fleet'),
  link('Traces of the service', exploreTraces(`{ resource.service.name = "\${__field.labels.job}" }`)),
];

/** The address of Grafana's Explore with a TraceQL query, over the dashboard's time. */
function exploreTraces(query: string): string {
  const pane = {
    datasource: `\${traces}`,
    queries: [{ refId: 'A', datasource: { type: 'tempo', uid: `\${traces}` }, queryType: 'traceql', query }],
    range: { from: `\${__from}`, to: `\${__to}` },
  };
  // Grafana fills in its variables as they stand, so that they must not be escaped.
  const panes = encodeURIComponent(JSON.stringify({ rdcp: pane })).replaceAll(/%24%7B(.*?)%7D/g, `\${$1}`);
  return `/explore?schemaVersion=1&panes=${panes}`;
}
