import { propagation, type Sampler, TraceFlags, trace } from '@opentelemetry/api';
import { TICKET_ENTRY } from '../../access/tickets/ticket.ts';
import { gateLogs } from '../../adopt/otel/logs.ts';
import { debugLane, type LogProcessor } from '../../calls/emit/debug-lane.ts';
import type { LogExports } from '../../calls/emit/log-exports.ts';
import { gateSampler, RECORD_AND_SAMPLED } from '../../calls/emit/sampler.ts';
import type { Listening } from '../../control/cluster/following.ts';
import { endpointVariable, exporterNames, isSet, type SignalName } from '../../otel/environment.ts';
import { asOwnWork } from '../../otel/own-work.ts';
import { INSTRUMENTATION_NAME } from '../../wire/version.ts';
import { type Environment, SDK } from './environment.ts';
import { loadPackage, loadPackageOf } from './otel-packages.ts';
import { knownNames, unusableVariables } from './otel-variables.ts';
import { metricsUrl, type ServedMetrics, servePrometheus } from './prometheus.ts';

/**
 * The SDK's default is 2,000 series per instrument; further ones share an overflow series. There can be 4,096 categories.
 */
const SERIES_LIMIT = 5000;

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
    SDK,
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

/** Environment to set for the SDK, which by default exports a signal that is not configured. */
function forNodeSdk({ prometheus, otherMetrics, logs }: ReturnType<typeof exportersFrom>): Record<string, string> {
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

/**
 * Reads `OTEL_*_EXPORTER` and `OTEL_EXPORTER_*`. A signal without configuration is not exported: OpenTelemetry's default, OTLP
 * to localhost, reports a failure every few seconds if no collector runs.
 */
function exportersFrom(env: Environment, logsWanted: boolean) {
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

/**
 * The sampler that the SDK would create for `OTEL_TRACES_SAMPLER`, which also keeps the spans of categories that are on.
 * @param isTicket whether a ticket in the baggage makes the trace sampled. @default none does
 */
export function samplerFrom(env: Environment, isTicket: (value: string) => boolean = () => false): Sampler {
  const { AlwaysOffSampler, AlwaysOnSampler, ParentBasedSampler, TraceIdRatioBasedSampler } = loadSamplers();
  const given = isSet(env.OTEL_TRACES_SAMPLER) ? env.OTEL_TRACES_SAMPLER.trim() : 'parentbased_always_on';
  const root = given.replace('parentbased_', '');
  const sampler =
    root === 'always_on'
      ? new AlwaysOnSampler()
      : root === 'always_off'
        ? new AlwaysOffSampler()
        : new TraceIdRatioBasedSampler(isSet(env.OTEL_TRACES_SAMPLER_ARG) ? Number(env.OTEL_TRACES_SAMPLER_ARG) : 1);
  const decided = root === given ? sampler : new ParentBasedSampler({ root: sampler });
  return gateSampler(ticketSampler(decided, isTicket));
}

/** Samples what the wrapped sampler does not, where the baggage has a valid ticket. Asks once for each local root that is not sampled. */
function ticketSampler(sampler: Sampler, isTicket: (value: string) => boolean): Sampler {
  return {
    shouldSample(context, ...about) {
      const result = sampler.shouldSample(context, ...about);
      if (result.decision === RECORD_AND_SAMPLED) return result;
      const parent = trace.getSpanContext(context);
      const isLeftOut = parent !== undefined && !parent.isRemote && (parent.traceFlags & TraceFlags.SAMPLED) === 0;
      const ticket = isLeftOut ? undefined : propagation.getBaggage(context)?.getEntry(TICKET_ENTRY)?.value;
      return ticket !== undefined && isTicket(ticket) ? { ...result, decision: RECORD_AND_SAMPLED } : result;
    },
    toString: () => String(sampler),
  };
}

function loadSamplers(): typeof import('@opentelemetry/sdk-trace') {
  try {
    return loadPackageOf(SDK, '@opentelemetry/sdk-trace');
  } catch {
    return loadPackageOf(SDK, '@opentelemetry/sdk-trace-base'); // Early 2.x releases.
  }
}

const DEFAULT_EXPORTER = '@opentelemetry/exporter-logs-otlp-proto';
const EXPORTERS: Readonly<Record<string, string>> = {
  grpc: '@opentelemetry/exporter-logs-otlp-grpc',
  'http/json': '@opentelemetry/exporter-logs-otlp-http',
  'http/protobuf': DEFAULT_EXPORTER,
};
const DEFAULT_QUEUE = 2048;

/**
 * The processors that the SDK would create for `OTEL_LOGS_EXPORTER`; a processor with a queue gets a debug lane in front.
 * The results of OTLP exports are reported to `exports`.
 * @param names of the exporters
 * @param env without unusable values
 */
function logProcessors(
  names: readonly string[],
  env: Environment,
  { gated, exports }: { readonly gated: boolean; readonly exports: LogExports },
): LogProcessor[] {
  const protocol = env.OTEL_EXPORTER_OTLP_LOGS_PROTOCOL?.trim() || env.OTEL_EXPORTER_OTLP_PROTOCOL?.trim();
  const batch = batchOptions(env);
  const { BatchLogRecordProcessor, ConsoleLogRecordExporter, SimpleLogRecordProcessor } = loadPackageOf(
    SDK,
    '@opentelemetry/sdk-logs',
  );
  // Early 2.x releases take the exporter as the first argument; only the batch processor, which has a second one, shows it.
  const exporterFirst = Object.getPrototypeOf(BatchLogRecordProcessor).length > 1;
  const make = (Processor: Constructor, options: { readonly exporter: object }) =>
    exporterFirst ? new Processor(options.exporter, options) : new Processor(options);
  const processors = [...new Set(names)].map((name) => {
    if (name === 'console') return make(SimpleLogRecordProcessor, { exporter: new ConsoleLogRecordExporter() });
    const { OTLPLogExporter } = loadPackageOf(SDK, EXPORTERS[protocol ?? ''] ?? DEFAULT_EXPORTER);
    const exporter = exports.watch(new OTLPLogExporter());
    const processor = make(BatchLogRecordProcessor, { exporter, ...batch });
    const { maxQueueSize = DEFAULT_QUEUE } = batch;
    return debugLane(processor, { inProcessor: Math.max(1, Math.floor(maxQueueSize / 4)), waiting: maxQueueSize });
  });
  return gated ? processors.map(gateLogs) : processors;
}

type Constructor = new (...given: unknown[]) => LogProcessor;

const BATCH_VARIABLES = {
  maxQueueSize: 'OTEL_BLRP_MAX_QUEUE_SIZE',
  scheduledDelayMillis: 'OTEL_BLRP_SCHEDULE_DELAY',
  exportTimeoutMillis: 'OTEL_BLRP_EXPORT_TIMEOUT',
  maxExportBatchSize: 'OTEL_BLRP_MAX_EXPORT_BATCH_SIZE',
};

type BatchOptions = { [Option in keyof typeof BATCH_VARIABLES]?: number };

function batchOptions(env: Environment): BatchOptions {
  const given = Object.entries(BATCH_VARIABLES).filter(([, variable]) => isSet(env[variable]));
  return Object.fromEntries(given.map(([option, variable]) => [option, Number(env[variable])]));
}
