import type { Environment } from '../environment.ts';
import { endpointVariable, exporterNames, exportVariable, isSet } from '../otel-environment.ts';

/** OpenTelemetry's default for its Prometheus endpoint. */
const PROMETHEUS_HOST = 'localhost';
const PROMETHEUS_PORT = 9464;

/** The exporters that OpenTelemetry's environment variables configure. */
export interface Exporters {
  /** The Prometheus endpoint; `undefined` if `OTEL_METRICS_EXPORTER` is `none`. */
  readonly prometheus: { readonly host: string; readonly port: number } | undefined;
  /** The exporters of `OTEL_METRICS_EXPORTER` other than Prometheus. */
  readonly otherMetrics: readonly string[];
  /** Whether spans are exported. */
  readonly traces: boolean;
  /** Whether log records are exported. If not, debug calls are written to stderr. */
  readonly logs: boolean;
}

/**
 * Reads `OTEL_*_EXPORTER` and `OTEL_EXPORTER_*`. A signal without configuration is not exported: OpenTelemetry's default, OTLP
 * to localhost, reports a failure every few seconds if no collector runs.
 */
export function exportersFrom(env: Environment): Exporters {
  const metrics = exporterNames(env, 'METRICS') ?? (endpointVariable(env, 'METRICS') === undefined ? [] : ['otlp']);
  const excluded = metrics.includes('none');
  return {
    prometheus: excluded ? undefined : prometheusAddress(env),
    otherMetrics: excluded ? [] : metrics.filter((name) => name !== 'prometheus'),
    traces: exportVariable(env, 'TRACES') !== undefined,
    logs: exportVariable(env, 'LOGS') !== undefined,
  };
}

/** An invalid port counts as unset, as in OpenTelemetry. */
function prometheusAddress(env: Environment): { host: string; port: number } {
  const host = env.OTEL_EXPORTER_PROMETHEUS_HOST;
  const port = env.OTEL_EXPORTER_PROMETHEUS_PORT;
  const usable = isSet(port) && /^\d+$/.test(port) && Number(port) <= 65_535;
  return { host: isSet(host) ? host : PROMETHEUS_HOST, port: usable ? Number(port) : PROMETHEUS_PORT };
}
