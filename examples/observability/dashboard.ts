import { writeFileSync } from 'node:fs';
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import {
  AnnotationQueryBuilder,
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  DatasourceVariableBuilder,
  type Panel,
  QueryVariableBuilder,
  RowBuilder,
  TextBoxVariableBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import {
  categoryPanels,
  controlPanels,
  DATASOURCE,
  failurePanels,
  nowPanels,
  processPanels,
  recorderPanels,
  tenantPanels,
} from './panels.ts';
import { ANNOTATION_STEP, requested, switched } from './queries.ts';

/** The dashboard as Grafana imports it. Run this file to write `dashboard.json`. */
export function dashboard(): Dashboard {
  const builder = new DashboardBuilder('Runtime debug control')
    .uid('rdcp')
    .description('Which debug categories are on, what they say, and who switches them (RDCP 1.0).')
    .tags(['rdcp', 'opentelemetry', 'debug'])
    .editable()
    .tooltip(DashboardCursorSync.Crosshair)
    .time({ from: 'now-1h', to: 'now' })
    .timezone('browser')
    .refresh('30s')
    .withVariable(new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'))
    .withVariable(choice('job', 'Job', 'label_values(rdcp_category_enabled, job)'))
    .withVariable(choice('instance', 'Instance', 'label_values(rdcp_category_enabled{job=~"$job"}, instance)'))
    .withVariable(
      choice(
        'category',
        'Category',
        'label_values(rdcp_category_enabled{job=~"$job", instance=~"$instance"}, rdcp_category_name)',
      ),
    )
    .withVariable(
      new TextBoxVariableBuilder('console').label('Console').defaultValue('http://127.0.0.1:9465/rdcp/console/'),
    )
    .withVariable(new DatasourceVariableBuilder('traces').label('Traces').type('tempo'))
    .annotation(
      mark('Categories switched', 'orange', switched, '{{rdcp_category_name}} was switched', 'rdcp_category_name'),
    )
    .annotation(
      mark('Control requests', 'blue', requested, '{{rdcp_action}}: {{rdcp_outcome}}', 'rdcp_action,rdcp_outcome'),
    );

  let id = 0;
  const row = (title: string, panels: Builder<Panel>[]) => {
    builder.withRow(new RowBuilder(title).id(++id));
    for (const panel of panels) builder.withPanel({ build: () => ({ ...panel.build(), id: ++id }) });
  };
  row('Now', nowPanels);
  row('Failures', failurePanels);
  row('Categories', categoryPanels);
  row('Recorder', recorderPanels);
  row('Tenants', tenantPanels);
  row('Control', controlPanels);
  row('Processes', processPanels);
  return builder.build();
}

function choice(name: string, label: string, query: string): QueryVariableBuilder {
  return new QueryVariableBuilder(name)
    .label(label)
    .datasource(DATASOURCE)
    .query({ query, refId: name })
    .definition(query)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc)
    .multi(true)
    .includeAll(true)
    .allValue('.+')
    .current({ selected: true, text: 'All', value: '$__all' });
}

function mark(name: string, color: string, expr: string, title: string, tagKeys: string): AnnotationQueryBuilder {
  return new AnnotationQueryBuilder()
    .name(name)
    .datasource(DATASOURCE)
    .enable(true)
    .hide(false)
    .iconColor(color)
    .expr(expr)
    .step(ANNOTATION_STEP)
    .titleFormat(title)
    .tagKeys(tagKeys);
}

if (import.meta.main) {
  writeFileSync(new URL('dashboard.json', import.meta.url), `${JSON.stringify(dashboard(), undefined, 2)}\n`);
}
