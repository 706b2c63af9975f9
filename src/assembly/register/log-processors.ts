import { gateLogs } from '../../adopt/otel/logs.ts';
import { debugLane, type LogProcessor } from '../../calls/emit/debug-lane.ts';
import type { LogExports } from '../../calls/emit/log-exports.ts';
import { isSet } from '../../otel/environment.ts';
import { loadPackageOf } from './otel-packages.ts';

const SDK = '@opentelemetry/sdk-node';
const DEFAULT_EXPORTER = '@opentelemetry/exporter-logs-otlp-proto';
const EXPORTERS: Readonly<Record<string, string>> = {
  grpc: '@opentelemetry/exporter-logs-otlp-grpc',
  'http/json': '@opentelemetry/exporter-logs-otlp-http',
  'http/protobuf': DEFAULT_EXPORTER,
};
const DEFAULT_QUEUE = 2048;

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * The processors that the SDK would create for `OTEL_LOGS_EXPORTER`; a processor with a queue gets a debug lane in front.
 * The results of OTLP exports are reported to `exports`.
 * @param names of the exporters
 * @param env without unusable values
 */
export function logProcessors(
  names: readonly string[],
  env: Variables,
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

/** Without those that are not set. */
function batchOptions(env: Variables): BatchOptions {
  const given = Object.entries(BATCH_VARIABLES).filter(([, variable]) => isSet(env[variable]));
  return Object.fromEntries(given.map(([option, variable]) => [option, Number(env[variable])]));
}
