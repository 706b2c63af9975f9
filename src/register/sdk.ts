import type { Listening } from '../cluster/listening.ts';
import type { RdcpInstrumentation } from '../instrumentation.ts';
import { INSTRUMENTATION_NAME } from '../version.ts';
import { type Exporters, exportersFrom } from './exporters.ts';
import { logProcessors } from './log-processors.ts';
import { loadPackage } from './otel-packages.ts';
import { metricsUrl, type ServedMetrics, servePrometheus } from './prometheus.ts';

/**
 * The SDK keeps 2,000 series of an instrument and puts what is more into one overflow series. The gate holds 4,096
 * categories.
 */
const SERIES_LIMIT = 5000;

/** Sees spans and keeps none. With no span processor at all there would be no tracer provider, so no trace ids. */
const IDS_ONLY = { onStart() {}, onEnd() {}, forceFlush: async () => {}, shutdown: async () => {} };

interface StartedSdk {
  readonly sdk: { shutdown(): Promise<void> };
  readonly instrumentation: RdcpInstrumentation;
  /** Opens the endpoint for Prometheus, where there is to be one, and gives the address to scrape. */
  serveMetrics(): Promise<Listening> | undefined;
}

/**
 * Starts the OpenTelemetry SDK as the variables of the environment ask for.
 * @param wanted `logs`: export log records, to OpenTelemetry's default address, although no variable asks for it;
 * `allowedHosts`: host names besides its own under which the Prometheus endpoint is scraped
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` when a package is missing
 */
export function startSdk(
  env: NodeJS.ProcessEnv,
  instrument: () => RdcpInstrumentation,
  wanted: { readonly logs: boolean; readonly allowedHosts: readonly string[] },
): StartedSdk {
  const { NodeSDK }: typeof import('@opentelemetry/sdk-node') = loadPackage('@opentelemetry/sdk-node');
  const { PrometheusExporter }: typeof import('@opentelemetry/exporter-prometheus') = loadPackage(
    '@opentelemetry/exporter-prometheus',
  );
  const configured = exportersFrom(env);
  const exporters = { ...configured, logs: configured.logs || wanted.logs };
  const { prometheus, otherMetrics, traces } = exporters;
  const instrumentation = instrument();
  // Where metrics go elsewhere too, the SDK makes every reader as its variables say, the one for Prometheus as well.
  const exporter =
    prometheus === undefined || otherMetrics.length > 0
      ? undefined
      : new PrometheusExporter({ preventServerStart: true });
  const logRecordProcessors = exporters.logs ? logProcessors(env) : undefined;
  const sdk = withVariables(env, forNodeSdk(exporters), () => {
    const made = new NodeSDK({
      instrumentations: [instrumentation],
      views: [{ meterName: INSTRUMENTATION_NAME, aggregationCardinalityLimit: SERIES_LIMIT }],
      ...(otherMetrics.length > 0 ? {} : { metricReaders: exporter === undefined ? [] : [exporter] }),
      ...(traces ? {} : { spanProcessors: [IDS_ONLY] }),
      ...(logRecordProcessors === undefined ? {} : { logRecordProcessors }),
    });
    made.start();
    return made;
  });
  let served: ServedMetrics | undefined;
  const serveMetrics = () => {
    if (prometheus === undefined) return undefined;
    if (exporter === undefined) return Promise.resolve({ url: metricsUrl(prometheus) });
    served = servePrometheus(exporter, { ...prometheus, allowedHosts: wanted.allowedHosts });
    return served.listening;
  };
  const shutdown = async () => {
    served?.leave();
    await sdk.shutdown();
  };
  return { sdk: { shutdown }, instrumentation, serveMetrics };
}

/** The variables as the SDK is to read them: its own default for a signal that nobody configured is to send it. */
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

/** Runs `make` under other variables. The application, and the processes it starts, see those that were set. */
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
