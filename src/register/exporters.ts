import type { Environment } from '../environment.ts';
import { endpointVariable, exporterNames, exportVariable, isSet } from '../otel-environment.ts';

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
  const metrics = exporterNames(env, 'METRICS') ?? (endpointVariable(env, 'METRICS') === undefined ? [] : ['otlp']);
  const excluded = metrics.includes('none');
  return {
    prometheus: excluded ? undefined : prometheusAddress(env),
    otherMetrics: excluded ? [] : metrics.filter((name) => name !== 'prometheus'),
    traces: exportVariable(env, 'TRACES') !== undefined,
    logs: exportVariable(env, 'LOGS') !== undefined,
  };
}

/** A port that is none counts as not set, as OpenTelemetry has it. */
function prometheusAddress(env: Environment): { host: string; port: number } {
  const host = env.OTEL_EXPORTER_PROMETHEUS_HOST;
  const port = env.OTEL_EXPORTER_PROMETHEUS_PORT;
  const usable = isSet(port) && /^\d+$/.test(port) && Number(port) <= 65_535;
  return { host: isSet(host) ? host : PROMETHEUS_HOST, port: usable ? Number(port) : PROMETHEUS_PORT };
}
