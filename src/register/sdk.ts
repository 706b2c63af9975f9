import type { Listening } from '../cluster/listening.ts';
import type { RdcpInstrumentation } from '../instrumentation.ts';
import { asOwnWork } from '../own-work.ts';
import { INSTRUMENTATION_NAME } from '../version.ts';
import { type Exporters, exportersFrom } from './exporters.ts';
import { logProcessors } from './log-processors.ts';
import { loadPackage } from './otel-packages.ts';
import { metricsUrl, type ServedMetrics, servePrometheus } from './prometheus.ts';
import { samplerFrom } from './sampler.ts';

/**
 * The SDK's default is 2,000 series per instrument; further ones share an overflow series. There can be 4,096 categories.
 */
const SERIES_LIMIT = 5000;

/** Drops every span. Without a span processor the SDK registers no tracer provider, and there are no trace ids. */
const IDS_ONLY = { onStart() {}, onEnd() {}, forceFlush: async () => {}, shutdown: async () => {} };

interface StartedSdk {
  readonly sdk: { shutdown(): Promise<void> };
  readonly instrumentation: RdcpInstrumentation;
  /** Opens the Prometheus endpoint and resolves with the address to scrape; `undefined` without such an endpoint. */
  serveMetrics(): Promise<Listening> | undefined;
}

/**
 * Starts the OpenTelemetry SDK as configured by the environment.
 * @param wanted `logs`: export log records, by default to OpenTelemetry's default address, even if no variable configures it;
 * `gateLogs`: records below INFO pass while the category of their scope is on; `allowedHosts`: additional host names of the Prometheus endpoint
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` if a package is missing
 */
export function startSdk(
  env: NodeJS.ProcessEnv,
  instrument: () => RdcpInstrumentation,
  wanted: { readonly logs: boolean; readonly gateLogs: boolean; readonly allowedHosts: readonly string[] },
): StartedSdk {
  const { NodeSDK }: typeof import('@opentelemetry/sdk-node') = loadPackage('@opentelemetry/sdk-node');
  const { PrometheusExporter }: typeof import('@opentelemetry/exporter-prometheus') = loadPackage(
    '@opentelemetry/exporter-prometheus',
  );
  const configured = exportersFrom(env);
  const exporters = { ...configured, logs: configured.logs || wanted.logs };
  const { prometheus, otherMetrics, traces } = exporters;
  const instrumentation = instrument();
  // With other metric exporters the SDK creates every reader from its variables, including the one for Prometheus.
  const exporter =
    prometheus === undefined || otherMetrics.length > 0
      ? undefined
      : new PrometheusExporter({ preventServerStart: true });
  const logRecordProcessors = exporters.logs ? logProcessors(env, { gated: wanted.gateLogs }) : undefined;
  const sampler = samplerFrom(env);
  const start = () => {
    const made = new NodeSDK({
      instrumentations: [instrumentation],
      views: [{ meterName: INSTRUMENTATION_NAME, aggregationCardinalityLimit: SERIES_LIMIT }],
      // SDKs before 0.206 know the second name alone; later ones prefer the first.
      ...(otherMetrics.length > 0
        ? {}
        : { metricReaders: exporter === undefined ? [] : [exporter], metricReader: exporter }),
      ...(traces ? {} : { spanProcessors: [IDS_ONLY] }),
      ...(logRecordProcessors === undefined ? {} : { logRecordProcessors }),
      ...(sampler === undefined ? {} : { sampler }),
    });
    made.start();
    return made;
  };
  // Its Prometheus endpoint is no server of the application.
  const sdk = asOwnWork(() => withVariables(env, forNodeSdk(exporters), start));
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
  return { sdk: { shutdown }, instrumentation, serveMetrics };
}

/** Variables to set for the SDK, which by default exports a signal that is not configured. */
function forNodeSdk({ prometheus, otherMetrics, logs }: Exporters): Record<string, string> {
  return {
    ...(logs ? {} : { OTEL_LOGS_EXPORTER: 'none' }),
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
