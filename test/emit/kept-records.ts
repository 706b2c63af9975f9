import { logs } from '@opentelemetry/api';
import { InMemoryLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs';

/** Registers a global logger provider whose records are kept. @param enabled whether it wants any */
export function keepRecords({ enabled = true } = {}): InMemoryLogRecordExporter {
  const exporter = new InMemoryLogRecordExporter();
  const processor = new SimpleLogRecordProcessor({ exporter });
  const processors = [enabled ? processor : Object.assign(processor, { enabled: () => false })];
  logs.setGlobalLoggerProvider(new LoggerProvider({ processors }));
  return exporter;
}
