import type { Logger } from '../telemetry.ts';

/** The default addresses of the OTLP exporters. */
const DEFAULT_ADDRESSES = ['http://localhost:4318/v1/logs', 'localhost:4317'];
const MAX_TRANSPORTS = 5;

/**
 * Whether an SDK's logger leads only to OTLP at the default address, which `NodeSDK` sets up when log export is not
 * configured. This reads private fields of the SDK, which are the same in both major versions. Anything unexpected
 * counts as configured by the application.
 */
export function leadsToDefaultAddress(logger: Logger): boolean {
  try {
    // A logger obtained before the SDK was registered delegates to the SDK's logger.
    const made: unknown = field(logger, '_delegate') ?? logger;
    const processors: unknown = field(field(made, '_sharedState'), 'processors');
    return Array.isArray(processors) && processors.length > 0 && processors.every(exportsToDefaultAddress);
  } catch {
    return false;
  }
}

function exportsToDefaultAddress(processor: unknown): boolean {
  const inner = field(processor, 'processor');
  // A debug lane and a gate expose the processor behind them.
  if (inner !== undefined) return exportsToDefaultAddress(inner);
  const exporter = field(processor, '_exporter');
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
