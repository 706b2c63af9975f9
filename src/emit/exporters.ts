import type { Logger } from '../telemetry/telemetry.ts';

// The exporters of an SDK, in private fields that have the same names in both major versions.

/** The default addresses of the OTLP exporters. */
const DEFAULT_ADDRESSES = ['http://localhost:4318/v1/logs', 'localhost:4317'];
const MAX_TRANSPORTS = 5;

/** The exporters behind an SDK's logger, `undefined` for a processor without one. Empty if they cannot be seen. */
function exportersOf(logger: Logger): unknown[] {
  // A logger obtained before the SDK was registered delegates to the SDK's logger.
  const shared = field(field(logger, '_delegate') ?? logger, '_sharedState');
  // Early 2.x releases have the second name.
  const processors = field(shared, 'processors') ?? field(shared, 'registeredLogRecordProcessors');
  return Array.isArray(processors) ? processors.map(exporterOf) : [];
}

/** A debug lane and a gate expose the processor behind them. */
function exporterOf(processor: unknown): unknown {
  const inner = field(processor, 'processor');
  return inner === undefined ? field(processor, '_exporter') : exporterOf(inner);
}

/**
 * Whether an SDK's logger leads only to OTLP at the default address, which `NodeSDK` sets up when log export is not
 * configured. Anything unexpected counts as configured by the application.
 */
export function leadsToDefaultAddress(logger: Logger): boolean {
  try {
    const exporters = exportersOf(logger);
    return exporters.length > 0 && exporters.every(exportsToDefaultAddress);
  } catch {
    return false;
  }
}

function exportsToDefaultAddress(exporter: unknown): boolean {
  const delegate = field(exporter, '_delegate');
  if (delegate === undefined) return false;
  let transport = field(delegate, '_transport');
  for (let depth = 0; transport !== undefined && depth < MAX_TRANSPORTS; depth++) {
    const parameters = field(transport, '_parameters');
    const address = field(parameters, 'url') ?? field(parameters, 'address');
    if (typeof address === 'string') return DEFAULT_ADDRESSES.includes(address);
    transport = field(transport, '_transport');
  }
  // An OTLP exporter without a visible address: extra lines on stderr are better than none at all.
  return true;
}

function field(object: unknown, name: string): unknown {
  return typeof object === 'object' && object !== null ? Reflect.get(object, name) : undefined;
}
