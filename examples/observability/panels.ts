import { PanelBuilder as BarGaugeBuilder } from '@grafana/grafana-foundation-sdk/bargauge';
import type { Builder, Dataquery } from '@grafana/grafana-foundation-sdk/cog';
import { ReduceDataOptionsBuilder, VizLegendOptionsBuilder } from '@grafana/grafana-foundation-sdk/common';
import {
  MappingType,
  SpecialValueMatch,
  ThresholdsConfigBuilder,
  ThresholdsMode,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as StateTimelineBuilder } from '@grafana/grafana-foundation-sdk/statetimeline';
import { PanelBuilder as TableBuilder } from '@grafana/grafana-foundation-sdk/table';
import { PanelBuilder as TimeSeriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries';
import { categoryLinks, consoleLink, processLinks } from './links.ts';
import {
  CATEGORY,
  categoriesOn,
  categoriesRecorded,
  conditions,
  controlLatency,
  everEnabled,
  failuresPerMinute,
  grownBy,
  PROCESS,
  perSecond,
  processes,
  temporaryControls,
  tenantsOn,
  zeroWhileUp,
} from './queries.ts';

export const DATASOURCE = { type: 'prometheus', uid: '$datasource' };

/** The one value that a query of the end of the range answers. */
const latest = new ReduceDataOptionsBuilder().calcs(['lastNotNull']);

/** A query over time, with a name for its series. */
function series(expr: string, legend = '', refId = 'A'): Builder<Dataquery> {
  return new DataqueryBuilder().refId(refId).expr(expr).legendFormat(legend).range();
}

/** A query of the end of the range alone. */
function now(expr: string, legend = ''): DataqueryBuilder {
  return new DataqueryBuilder().refId('A').expr(expr).legendFormat(legend).instant();
}

function stat(title: string, description: string, expr: string): StatBuilder {
  return new StatBuilder()
    .title(title)
    .description(description)
    .datasource(DATASOURCE)
    .withTarget(now(expr))
    .reduceOptions(latest)
    .mappings([{ type: MappingType.SpecialValue, options: { match: SpecialValueMatch.NullAndNan, result: NO_DATA } }])
    .span(6)
    .height(4);
}

function graph(title: string, description: string, ...targets: Builder<Dataquery>[]): TimeSeriesBuilder {
  return new TimeSeriesBuilder()
    .title(title)
    .description(description)
    .datasource(DATASOURCE)
    .targets(targets)
    .min(0)
    .fillOpacity(10)
    .legend(new VizLegendOptionsBuilder().showLegend(true))
    .span(12)
    .height(8);
}

/** Grey, so that a process that is gone does not look as if all were well. */
const NO_DATA = { text: 'no data', color: 'text', index: 0 };

/** Grafana's unit for counts a second. */
const CALLS_PER_SECOND = 'cps';

/** That something is on is no trouble by itself. */
const NEUTRAL = 'blue';

function neutral(): ThresholdsConfigBuilder {
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps([{ value: null, color: NEUTRAL }]);
}

/** Green up to a value, orange from there on. */
function calmBelow(value: number): ThresholdsConfigBuilder {
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps([
    { value: null, color: 'green' },
    { value, color: 'orange' },
  ]);
}

export const nowPanels = [
  stat(
    'Categories on',
    'Debug categories that are on in at least one process, for everybody, for a tenant or for some work.',
    categoriesOn,
  )
    .thresholds(neutral())
    .links([consoleLink('On now, in the console', 'categories?show=on')]),
  stat('Temporary controls', 'Settings that end by themselves.', temporaryControls)
    .thresholds(neutral())
    .links([consoleLink('By time left, in the console', 'categories?show=on&sort=left')]),
  stat(
    'Debug calls a second',
    'As the processes measure it over their rate window.',
    zeroWhileUp(`sum(rdcp_debug_call_rate{${CATEGORY}})`),
  )
    .unit(CALLS_PER_SECOND)
    .decimals(1)
    .thresholds(calmBelow(100))
    .links([consoleLink('By calls, in the console', 'categories?sort=calls')]),
  stat(
    'Credentials refused',
    'In the time range of the dashboard.',
    zeroWhileUp(grownBy('rdcp_auth_failures_total', '', '$__range')),
  )
    .decimals(0)
    .thresholds(calmBelow(1))
    .links([consoleLink('Refusals in the audit trail', 'audit?action=authenticate')]),
  stat(
    'Categories recorded',
    'Whose calls are kept in memory, in at least one process.',
    zeroWhileUp(categoriesRecorded),
  )
    .thresholds(neutral())
    .links([consoleLink('Categories in the console', 'categories')]),
  stat(
    'Failures a minute',
    'Requests that the service answered with 500 or more, by the HTTP instrumentation of OpenTelemetry.',
    zeroWhileUp(failuresPerMinute('')),
  )
    .decimals(1)
    .thresholds(calmBelow(1))
    .links([consoleLink('Categories in the console', 'categories')]),
  stat('Conditions', 'Problems of the remote control that hold now.', zeroWhileUp(`sum(${conditions})`))
    .thresholds(calmBelow(1))
    .links([consoleLink('Health in the console', 'health')]),
  stat(
    'Audit failures',
    'Failed writes of the audit trail in the time range of the dashboard.',
    zeroWhileUp(grownBy('rdcp_audit_failures_total', '', '$__range')),
  )
    .decimals(0)
    .thresholds(calmBelow(1))
    .links([consoleLink('Health in the console', 'health')]),
];

export const failurePanels = [
  graph(
    'Failures a minute, by status',
    'Requests that the service answered with 500 or more, by the HTTP instrumentation of OpenTelemetry. `rdcp failures` lists those that are recorded.',
    series(zeroWhileUp(failuresPerMinute('http_response_status_code')), '{{http_response_status_code}}'),
  ).links([consoleLink('Categories in the console', 'categories')]),
  graph(
    'Conditions, and failed writes of the audit trail',
    '1 while a condition holds; health has its reason, docs/messages.md what to do. Failed writes in each interval.',
    series(zeroWhileUp(conditions), '{{rdcp_condition_name}}', 'A'),
    series(zeroWhileUp(grownBy('rdcp_audit_failures_total', '', '$__rate_interval')), 'failed writes', 'B'),
  ).links([consoleLink('Health in the console', 'health')]),
];

export const categoryPanels = [
  new StateTimelineBuilder()
    .title('Which categories were on')
    .description('Those that were on at some time, by process. The audit trail says who switched them, and why.')
    .datasource(DATASOURCE)
    .withTarget(series(everEnabled, '{{rdcp_category_name}} · {{instance}}'))
    .mappings([
      {
        type: MappingType.ValueToText,
        options: { 0: { text: 'off', color: 'text', index: 0 }, 1: { text: 'on', color: NEUTRAL, index: 1 } },
      },
    ])
    .mergeValues(true)
    .rowHeight(0.8)
    .dataLinks(categoryLinks)
    .legend(new VizLegendOptionsBuilder().showLegend(false))
    .span(24)
    .height(10),
  graph(
    'Debug calls a second, from the counters',
    'Zero where a category is off. Calls whose output was dropped are counted, too.',
    series(perSecond('rdcp_debug_calls_total', 'rdcp_category_name'), '{{rdcp_category_name}}'),
  )
    .unit(CALLS_PER_SECOND)
    .dataLinks(categoryLinks),
  graph(
    'Debug calls a second, as measured in the processes',
    'The figures that discovery and status answer, over the window of 60 seconds.',
    series(`sum by (rdcp_category_name) (rdcp_debug_call_rate{${CATEGORY}})`, '{{rdcp_category_name}}'),
  )
    .unit(CALLS_PER_SECOND)
    .dataLinks(categoryLinks),
  new BarGaugeBuilder()
    .title('Debug calls in the time range')
    .description('Made while on, those whose output was dropped among them.')
    .datasource(DATASOURCE)
    .withTarget(
      now(
        `sum by (rdcp_category_name) (increase(rdcp_debug_calls_total{${CATEGORY}}[$__range]))`,
        '{{rdcp_category_name}}',
      ),
    )
    .reduceOptions(latest)
    .decimals(0)
    .min(0)
    .dataLinks(categoryLinks)
    .span(12)
    .height(8),
  graph(
    'Debug calls dropped a second',
    'Calls made while on whose output was dropped: over a budget, too much waited for it, it threw, or they were made inside another call.',
    series(
      perSecond('rdcp_debug_dropped_total', 'rdcp_category_name, rdcp_reason'),
      '{{rdcp_category_name}}, {{rdcp_reason}}',
    ),
  )
    .unit(CALLS_PER_SECOND)
    .dataLinks(categoryLinks),
];

export const recorderPanels = [
  graph(
    'Recorded calls a second',
    'Written because their work failed or was slow, forgotten when it ended well, or cut for want of room or budget. What is forgotten can be read with `rdcp tail --since` for a while.',
    series(
      perSecond('rdcp_recorder_calls_total', 'rdcp_category_name, rdcp_outcome'),
      '{{rdcp_category_name}}, {{rdcp_outcome}}',
    ),
  )
    .unit(CALLS_PER_SECOND)
    .dataLinks(categoryLinks)
    .span(24),
  graph(
    'How far back the recorder reaches',
    'Without a gap, at most `recorder.keepSeconds`. Less where `recorder.keepBytes` is full before.',
    series(`max by (job, instance) (rdcp_recorder_reach{${PROCESS}})`, '{{instance}}'),
  )
    .unit('s')
    .dataLinks(processLinks),
  graph(
    'Memory of the recorder',
    'Of work that has ended, at most `recorder.keepBytes`.',
    series(`max by (job, instance) (rdcp_recorder_memory_used{${PROCESS}})`, '{{instance}}'),
  )
    .unit('bytes')
    .dataLinks(processLinks),
];

export const tenantPanels = [
  graph(
    'Tenants with a category on',
    'By a setting of their own. What is on for everybody is not in it.',
    series(tenantsOn, '{{rdcp_category_name}}, {{rdcp_setting}}'),
  )
    .dataLinks([consoleLink('Tenants in the console', 'tenants'), ...categoryLinks])
    .span(24),
];

export const controlPanels = [
  graph(
    'Control requests',
    'By action and outcome, in each interval.',
    series(
      grownBy('rdcp_control_requests_total', 'rdcp_action, rdcp_outcome', '$__rate_interval'),
      '{{rdcp_action}} {{rdcp_outcome}}',
    ),
  ).dataLinks([
    consoleLink(
      'These requests in the audit trail',
      `audit?action=\${__field.labels.rdcp_action}&outcome=\${__field.labels.rdcp_outcome}`,
    ),
  ]),
  graph(
    'Control latency',
    'From the request to the answer, with the commit of state and audit entry in it.',
    series(controlLatency(0.5), 'median', 'A'),
    series(controlLatency(0.95), '95th percentile', 'B'),
    series(controlLatency(0.99), '99th percentile', 'C'),
  )
    .unit('s')
    .links([consoleLink('Health in the console', 'health')]),
  graph(
    'Refused credentials',
    'By the method that was tried and the reason, in each interval.',
    series(
      grownBy('rdcp_auth_failures_total', 'rdcp_auth_method, rdcp_reason', '$__rate_interval'),
      '{{rdcp_auth_method}} {{rdcp_reason}}',
    ),
  ).links([consoleLink('Refusals in the audit trail', 'audit?action=authenticate')]),
  graph(
    'Temporary controls',
    'Live ones, as each process knows them: processes that share a store agree.',
    series(`max by (instance, rdcp_scope) (rdcp_control_temporary{${PROCESS}})`, '{{rdcp_scope}} · {{instance}}'),
  ).links([consoleLink('By time left, in the console', 'categories?show=on&sort=left')]),
];

export const processPanels = [
  new TableBuilder()
    .title('Processes')
    .description('What each says of itself: the resource of its telemetry.')
    .datasource(DATASOURCE)
    .withTarget(now(processes).format(PromQueryFormat.Table))
    // The sample is always 1.
    .transformations([{ id: 'organize', options: { excludeByName: { Time: true, Value: true } } }])
    .links([consoleLink('Processes in the console', 'fleet')])
    .span(24)
    .height(6),
  graph('Scraped', '1 while Prometheus reaches the process.', series(`up{${PROCESS}}`, '{{instance}}'))
    .max(1)
    .dataLinks(processLinks),
  graph(
    'Duration of a scrape',
    'Grows with the number of categories.',
    series(`scrape_duration_seconds{${PROCESS}}`, '{{instance}}'),
  )
    .unit('s')
    .dataLinks(processLinks),
];
