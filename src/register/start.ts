import { createRequire } from 'node:module';
import type { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import type { NodeSDK } from '@opentelemetry/sdk-node';
import type { RdcpConfig } from '../config.ts';
import { configFromEnvironment, type ReadFile } from '../environment.ts';
import { isRdcpError, RdcpError } from '../errors.ts';
import { RdcpInstrumentation } from '../instrumentation.ts';
import { createReporter } from '../reporter.ts';
import { INSTRUMENTATION_NAME } from '../version.ts';
import { type Exporters, exportersFrom } from './exporters.ts';
import { metricsUrl, servePrometheus } from './prometheus.ts';
import { flushAtTheEnd } from './shutdown.ts';

/**
 * The SDK keeps 2,000 series of an instrument and puts what is more into one overflow series. The gate holds 4,096
 * categories.
 */
const SERIES_LIMIT = 5000;

/** Where the key is kept of a service for which no credential is configured. */
const DEV_KEY_FILE = '.rdcp/dev-key';
const CREDENTIALS = ['apiKeys', 'jwt', 'introspection', 'mtls'];

/** Sees spans and keeps none. With no span processor at all there would be no tracer provider, so no trace ids. */
const IDS_ONLY = { onStart() {}, onEnd() {}, forceFlush: async () => {}, shutdown: async () => {} };

const reporter = createReporter();

interface Packages {
  readonly NodeSDK: typeof NodeSDK;
  readonly PrometheusExporter: typeof PrometheusExporter;
}

/**
 * Starts the OpenTelemetry SDK, its Prometheus endpoint and the remote control as the environment asks for; does nothing
 * with `OTEL_SDK_DISABLED=true`. When the configuration is wrong or a package is missing it ends the process, before
 * the application runs, with code 1 and one line on stderr.
 */
export function startFromEnvironment(env: NodeJS.ProcessEnv, readFile: ReadFile): void {
  if (env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return;
  try {
    start(env, readFile);
  } catch (error) {
    if (!isRdcpError(error)) throw error;
    reporter.error(error.message);
    process.exit(1);
  }
}

function start(env: NodeJS.ProcessEnv, readFile: ReadFile): void {
  const config = configFromEnvironment(env, readFile);
  const { NodeSDK, PrometheusExporter } = loadPackages();
  const exporters = exportersFrom(env);
  const { prometheus, otherMetrics, traces } = exporters;
  const instrumentation = new RdcpInstrumentation(config);
  // Where metrics go elsewhere too, the SDK makes every reader as its variables say, the one for Prometheus as well.
  const exporter =
    prometheus === undefined || otherMetrics.length > 0
      ? undefined
      : new PrometheusExporter({ preventServerStart: true });
  const sdk = withVariables(env, forNodeSdk(exporters), () => {
    const made = new NodeSDK({
      instrumentations: [instrumentation],
      views: [{ meterName: INSTRUMENTATION_NAME, aggregationCardinalityLimit: SERIES_LIMIT }],
      ...(otherMetrics.length > 0 ? {} : { metricReaders: exporter === undefined ? [] : [exporter] }),
      ...(traces ? {} : { spanProcessors: [IDS_ONLY] }),
    });
    made.start();
    return made;
  });
  flushAtTheEnd({ sdk, instrumentation });
  void announce({
    endpoint: config.server === false ? undefined : instrumentation.listen(),
    metrics: prometheus && (exporter === undefined ? metricsUrl(prometheus) : servePrometheus(exporter, prometheus)),
    development: usesDevelopmentKey(config),
  });
}

/** Loaded here alone, and at once: an `await` would keep this entry from being required. */
function loadPackages(): Packages {
  const require = createRequire(import.meta.url);
  const load = (name: string) => {
    try {
      return require(name);
    } catch (cause) {
      throw new RdcpError('RDCP_CONFIG_INVALID', `${name} is needed here: npm install ${name}`, { cause });
    }
  };
  const { NodeSDK } = load('@opentelemetry/sdk-node');
  const { PrometheusExporter } = load('@opentelemetry/exporter-prometheus');
  return { NodeSDK, PrometheusExporter };
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

interface Started {
  readonly endpoint: Promise<{ readonly url: string }> | undefined;
  readonly metrics: Promise<string> | string | undefined;
  readonly development: boolean;
}

/** The one line of a start that went well. What did not start is told, and the application runs without it. */
async function announce(started: Started): Promise<void> {
  const [endpoint, metrics] = await Promise.allSettled([started.endpoint, started.metrics]);
  const parts: string[] = [];
  if (endpoint.status === 'fulfilled' && endpoint.value !== undefined) {
    parts.push(`remote control on ${endpoint.value.url}`);
    if (started.development) parts.push(`its key in ${DEV_KEY_FILE}`);
  }
  if (metrics.status === 'fulfilled' && metrics.value !== undefined) parts.push(`metrics on ${metrics.value}`);
  if (parts.length > 0) reporter.info(parts.join(', '));
  if (metrics.status === 'rejected') reporter.error(`the metrics endpoint did not start: ${codeOf(metrics.reason)}`);
}

function usesDevelopmentKey({ security = {} }: RdcpConfig): boolean {
  return CREDENTIALS.every((name) => Reflect.get(security, name) === undefined);
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'internal error';
}
