import type { Environment } from '../environment.ts';

/** OpenTelemetry's default for its Prometheus endpoint. */
const PROMETHEUS_HOST = 'localhost';
const PROMETHEUS_PORT = 9464;

/** Which exporters the variables of OpenTelemetry ask for. */
export interface Exporters {
  /** The Prometheus endpoint, unless metrics are excluded by `none`. */
  readonly prometheus: { readonly host: string; readonly port: number } | undefined;
  /** `OTEL_METRICS_EXPORTER` without Prometheus: what else metrics go to. */
  readonly otherMetrics: readonly string[];
  /** Whether spans go anywhere. */
  readonly traces: boolean;
  /** Whether log records go anywhere. Where they do not, debug calls are written on stderr. */
  readonly logs: boolean;
}

/**
 * Reads `OTEL_*_EXPORTER` and `OTEL_EXPORTER_*`. A signal that nobody configured stays at home: OpenTelemetry's own
 * default, OTLP to localhost, would report a failure every few seconds where no collector runs.
 */
export function exportersFrom(env: Environment): Exporters {
  const metrics = exporterNames(env, 'METRICS') ?? (hasEndpoint(env, 'METRICS') ? ['otlp'] : []);
  const excluded = metrics.includes('none');
  return {
    prometheus: excluded ? undefined : prometheusAddress(env),
    otherMetrics: excluded ? [] : metrics.filter((name) => name !== 'prometheus'),
    traces: isConfigured(env, 'TRACES'),
    logs: isConfigured(env, 'LOGS'),
  };
}

function isConfigured(env: Environment, signal: string): boolean {
  const names = exporterNames(env, signal);
  return names === undefined ? hasEndpoint(env, signal) : !names.includes('none');
}

function exporterNames(env: Environment, signal: string): string[] | undefined {
  const names = (env[`OTEL_${signal}_EXPORTER`] ?? '').split(',').map((name) => name.trim());
  const given = names.filter((name) => name !== '');
  return given.length === 0 ? undefined : given;
}

function hasEndpoint(env: Environment, signal: string): boolean {
  return isSet(env.OTEL_EXPORTER_OTLP_ENDPOINT) || isSet(env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`]);
}

/** A port that is none counts as not set, as OpenTelemetry has it. */
function prometheusAddress(env: Environment): { host: string; port: number } {
  const host = env.OTEL_EXPORTER_PROMETHEUS_HOST;
  const port = env.OTEL_EXPORTER_PROMETHEUS_PORT;
  const usable = isSet(port) && /^\d+$/.test(port) && Number(port) <= 65_535;
  return { host: isSet(host) ? host : PROMETHEUS_HOST, port: usable ? Number(port) : PROMETHEUS_PORT };
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value.trim() !== '';
}
