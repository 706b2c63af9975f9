// PromQL of the dashboard. The names are those of OpenTelemetry's Prometheus exporter: dots become underscores, monotonic
// counters end in _total, and the unit is not appended (a histogram in seconds keeps its bare name).

/** Processes that the dashboard's variables choose. */
export const PROCESS = 'job=~"$job", instance=~"$instance"';
/** Categories that they choose, in those processes. */
export const CATEGORY = `${PROCESS}, rdcp_category_name=~"$category"`;

/** Labels of its own, because `or` leaves out what has those of the left side. */
const activations = (expr: string) => `label_replace(${expr}, "rdcp_setting", "activation", "", "")`;

/** 1 while a category is on for everybody, for a tenant by a setting of its own, or for some work by an activation. */
const ON = [
  `rdcp_category_enabled{${CATEGORY}}`,
  `rdcp_category_settings{${CATEGORY}} > bool 0`,
  activations(`rdcp_activation_count{${CATEGORY}} > bool 0`),
].join(' or ');

/** A category as one process has it. */
export const enabled = `max by (instance, rdcp_category_name) (${ON})`;

const WAS_ON = ['rdcp_category_enabled', 'rdcp_category_settings', 'rdcp_activation_count']
  .map((metric) => `max_over_time(${metric}{${CATEGORY}}[$__range] @ end()) > 0`)
  .join(' or ');

/**
 * `enabled`, without categories that were off all the time: a service may have thousands. Each step looks at the whole range of
 * the dashboard (`@ end()`), so that the line of a category begins before it was switched on.
 */
export const everEnabled = `${enabled} and max by (instance, rdcp_category_name) (${WAS_ON})`;

/** Processes that share a store agree about tenants, so the largest number is the number. */
export const tenantsOn = `max by (rdcp_category_name, rdcp_setting) (rdcp_category_settings{${CATEGORY}})`;

export const categoriesOn = `sum(max by (rdcp_category_name) (${ON}))`;

/** A category whose calls the recorder has kept within the last five minutes. */
export const categoriesRecorded = `count(sum by (rdcp_category_name) (rate(rdcp_recorder_calls_total{${CATEGORY}}[5m])) > 0)`;

/** Of the HTTP semantic conventions of OpenTelemetry. */
export function failuresPerMinute(labels: string): string {
  const failed = `http_server_request_duration_count{${PROCESS}, http_response_status_code=~"5.."}`;
  return `60 * sum by (${labels}) (rate(${failed}[5m]))`;
}

/** 1 while a condition holds in some process. */
export const conditions = `max by (rdcp_condition_name) (rdcp_condition_active{${PROCESS}})`;

/** The attributes that distinguish a process's telemetry from that of others. */
export const processes = `max by (job, instance, service_name, service_version, service_instance_id, host_name, process_pid) (target_info{${PROCESS}})`;

/** Processes that share a store report the same controls, so the largest count is the number; tenants count apart. */
export const temporaryControls = `sum(max by (rdcp_scope) (rdcp_control_temporary{${PROCESS}}))`;

/**
 * Zero while a process answers, and nothing otherwise: what is counted from its first event on then shows 0 in a quiet
 * service, and no data when the processes are gone.
 */
export function zeroWhileUp(expr: string): string {
  return `${expr} or 0 * count(rdcp_control_temporary{${PROCESS}})`;
}

export function perSecond(counter: string, labels: string): string {
  return `sum by (${labels}) (rate(${counter}{${CATEGORY}}[$__rate_interval]))`;
}

/**
 * How much a counter grew in a window. A counter of OpenTelemetry appears with its first count, and increase() does not
 * see the step from nothing to 1: a series that is new in the window counts as it stands.
 */
export function grownBy(counter: string, labels: string, window: string): string {
  const series = `${counter}{${PROCESS}}`;
  const old = `(increase(${series}[${window}]) and ${series} offset ${window})`;
  const fresh = `(${series} unless ${series} offset ${window})`;
  return `sum by (${labels}) (${old} or ${fresh})`;
}

export function controlLatency(quantile: number): string {
  return `histogram_quantile(${quantile}, sum by (le) (rate(rdcp_control_duration_bucket{${PROCESS}}[$__rate_interval])))`;
}

/** The length of a scrape more than a step, so that a switch between two steps is in one window whole. */
const STEP_AND_SCRAPE = '75s';
export const ANNOTATION_STEP = '60s';

const switchedIn = (metric: string) => `changes(${metric}{${CATEGORY}}[${STEP_AND_SCRAPE}])`;
const SWITCHED = [
  switchedIn('rdcp_category_enabled'),
  switchedIn('rdcp_category_settings'),
  activations(switchedIn('rdcp_activation_count')),
];
export const switched = `sum by (rdcp_category_name) (${SWITCHED.join(' or ')}) > 0`;

export const requested = `${grownBy('rdcp_control_requests_total', 'rdcp_action, rdcp_outcome', STEP_AND_SCRAPE)} > 0`;
