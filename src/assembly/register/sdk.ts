import type { LogExports } from '../../calls/emit/log-exports.ts';
import type { Listening } from '../../control/cluster/following.ts';
import { endpointVariable, exporterNames, isSet, type SignalName } from '../../otel/environment.ts';
import { asOwnWork } from '../../otel/own-work.ts';
import { INSTRUMENTATION_NAME } from '../../wire/version.ts';
import type { Environment } from './environment.ts';
import { logProcessors } from './log-processors.ts';
import { loadPackage, loadPackageOf } from './otel-packages.ts';
import { knownNames, unusableVariables } from './otel-variables.ts';
import { metricsUrl, type ServedMetrics, servePrometheus } from './prometheus.ts';
import { samplerFrom } from './sampler.ts';

/**
 * The SDK's default is 2,000 series per instrument; further ones share an overflow series. There can be 4,096 categories.
 */
const SERIES_LIMIT = 5000;

/** OpenTelemetry's default for its Prometheus endpoint. */
const PROMETHEUS_HOST = 'localhost';
const PROMETHEUS_PORT = 9464;

/** Drops every span. Without a span processor the SDK registers no tracer provider, and there are no trace ids. */
const IDS_ONLY = { onStart() {}, onEnd() {}, forceFlush: async () => {}, shutdown: async () => {} };

export interface StartedSdk {
  shutdown(): Promise<void>;
  /** Opens the Prometheus endpoint and resolves with the address to scrape; `undefined` without such an endpoint. */
  serveMetrics(): Promise<Listening> | undefined;
}

/**
 * Starts the OpenTelemetry SDK as configured by the environment.
 * @param wanted `logs`: export log records, by default to OpenTelemetry's default address, even if no variable configures it;
 * `gateLogs`: records below INFO pass while the category of their scope is on; `isTicket`: whether a ticket in the baggage makes its trace
 * sampled; `allowedHosts`: additional host names of the Prometheus endpoint; `exports`: gets the results of log
 * exports; `warn`: takes a line about each variable with an unusable value
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` if the SDK is missing
 */
export function startSdk(
  env: NodeJS.ProcessEnv,
  wanted: {
    readonly logs: boolean;
    readonly gateLogs: boolean;
    readonly isTicket: ((value: string) => boolean) | undefined;
    readonly allowedHosts: readonly string[];
    readonly exports: LogExports;
    warn(message: string): void;
  },
): StartedSdk {
  const { problems, ignored } = unusableVariables(env);
  for (const problem of problems) wanted.warn(problem);
  const usable = { ...env, ...ignored };
  const { NodeSDK }: typeof import('@opentelemetry/sdk-node') = loadPackage('@opentelemetry/sdk-node');
  // A dependency of every SDK that is supported, in the SDK's version.
  const { PrometheusExporter }: typeof import('@opentelemetry/exporter-prometheus') = loadPackageOf(
    '@opentelemetry/sdk-node',
    '@opentelemetry/exporter-prometheus',
  );
  const exporters = exportersFrom(usable, wanted.logs);
  const { prometheus, otherMetrics, logs, traces } = exporters;
  // With other metric exporters the SDK creates every reader from its variables, including the one for Prometheus.
  const exporter =
    prometheus === undefined || otherMetrics.length > 0
      ? undefined
      : new PrometheusExporter({ preventServerStart: true });
  const start = () => {
    const { gateLogs: gated, exports } = wanted;
    const made = new NodeSDK({
      views: [{ meterName: INSTRUMENTATION_NAME, aggregationCardinalityLimit: SERIES_LIMIT }],
      // SDKs before 0.206 know the second name alone; later ones prefer the first.
      ...(otherMetrics.length > 0
        ? {}
        : { metricReaders: exporter === undefined ? [] : [exporter], metricReader: exporter }),
      ...(traces ? {} : { spanProcessors: [IDS_ONLY] }),
      ...(logs.length === 0 ? {} : { logRecordProcessors: logProcessors(logs, usable, { gated, exports }) }),
      sampler: samplerFrom(usable, wanted.isTicket),
    });
    made.start();
    return made;
  };
  // Its Prometheus endpoint is no server of the application.
  const sdk = asOwnWork(() => withVariables(env, { ...ignored, ...forNodeSdk(exporters) }, start));
  let served: ServedMetrics | undefined;
  const serveMetrics = () => {
    if (prometheus === undefined) return undefined;
    if (exporter === undefined) return Promise.resolve({ url: metricsUrl(prometheus) });
    served = asOwnWork(() => servePrometheus(exporter, { ...prometheus, allowedHosts: wanted.allowedHosts }));
    return served.listening;
  };
  const shutdown = async () => {
    served?.leave();
    await sdk.shutdown();
  };
  return { shutdown, serveMetrics };
}

/** Variables to set for the SDK, which by default exports a signal that is not configured. */
function forNodeSdk({ prometheus, otherMetrics, logs }: Exporters): Record<string, string> {
  return {
    ...(logs.length > 0 ? {} : { OTEL_LOGS_EXPORTER: 'none' }),
    ...(otherMetrics.length === 0 || prometheus === undefined
      ? {}
      : {
          OTEL_METRICS_EXPORTER: [...otherMetrics, 'prometheus'].join(','),
          OTEL_EXPORTER_PROMETHEUS_HOST: prometheus.host,
        }),
  };
}

/** Calls `make` with changed variables and restores them, so that the application and its child processes see the originals. */
function withVariables<T>(env: NodeJS.ProcessEnv, variables: Record<string, string>, make: () => T): T {
  const before = Object.keys(variables).map((name) => [name, env[name]] as const);
  Object.assign(env, variables);
  try {
    return make();
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete env[name];
      else env[name] = value;
    }
  }
}

/** The exporters that OpenTelemetry's environment variables configure. */
interface Exporters {
  /** The Prometheus endpoint; `undefined` if `OTEL_METRICS_EXPORTER` names only others. */
  readonly prometheus: { readonly host: string; readonly port: number } | undefined;
  /** The exporters of `OTEL_METRICS_EXPORTER` other than Prometheus. */
  readonly otherMetrics: readonly string[];
  /** Whether spans are exported. */
  readonly traces: boolean;
  /** The exporters of log records. Without one, debug calls are written to stderr. */
  readonly logs: readonly string[];
}

/**
 * Reads `OTEL_*_EXPORTER` and `OTEL_EXPORTER_*`. A signal without configuration is not exported: OpenTelemetry's default, OTLP
 * to localhost, reports a failure every few seconds if no collector runs.
 */
function exportersFrom(env: Environment, logsWanted: boolean): Exporters {
  const exportersOf = (signal: SignalName, byDefault: readonly string[]) => {
    const otlp = endpointVariable(env, signal) === undefined ? [] : ['otlp'];
    const names = exporterNames(env, signal) ?? [...new Set([...byDefault, ...otlp])];
    return names.includes('none') ? [] : knownNames(`OTEL_${signal}_EXPORTER`, names);
  };
  const metrics = exportersOf('METRICS', ['prometheus']);
  return {
    prometheus: metrics.includes('prometheus') ? prometheusAddress(env) : undefined,
    otherMetrics: metrics.filter((name) => name !== 'prometheus'),
    traces: exportersOf('TRACES', []).length > 0,
    logs: exportersOf('LOGS', logsWanted ? ['otlp'] : []),
  };
}

function prometheusAddress(env: Environment): { host: string; port: number } {
  const host = env.OTEL_EXPORTER_PROMETHEUS_HOST;
  const port = env.OTEL_EXPORTER_PROMETHEUS_PORT;
  return { host: isSet(host) ? host : PROMETHEUS_HOST, port: isSet(port) ? Number(port) : PROMETHEUS_PORT };
}
