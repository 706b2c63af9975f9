import type { Logger } from '../telemetry.ts';

/** The default addresses of the OTLP exporters. */
const DEFAULT_ADDRESSES = ['http://localhost:4318/v1/logs', 'localhost:4317'];
const MAX_TRANSPORTS = 5;

/**
 * Whether all that an SDK's logger leads to is OTLP to the default address, which is what `NodeSDK` makes without a
 * configuration for log records. It is found in the private fields of the SDK, which are the same on both lines; anything that is
 * not as expected was made by the application, and so was meant.
 */
export function leadsToDefaultAddress(logger: Logger): boolean {
  try {
    // A logger that was taken before the SDK came is a stand-in for the SDK's.
    const made: unknown = field(logger, '_delegate') ?? logger;
    const processors: unknown = field(field(made, '_sharedState'), 'processors');
    return Array.isArray(processors) && processors.length > 0 && processors.every(exportsToDefaultAddress);
  } catch {
    return false;
  }
}

function exportsToDefaultAddress(processor: unknown): boolean {
  // Behind a debug lane, which shows its processor.
  const exporter = field(field(processor, 'processor') ?? processor, '_exporter');
  const delegate = field(exporter, '_delegate');
  if (delegate === undefined) return false;
  let transport = field(delegate, '_transport');
  for (let depth = 0; transport !== undefined && depth < MAX_TRANSPORTS; depth++) {
    const parameters = field(transport, '_parameters');
    const address = field(parameters, 'url') ?? field(parameters, 'address');
    if (typeof address === 'string') return DEFAULT_ADDRESSES.includes(address);
    transport = field(transport, '_transport');
  }
  // An exporter of OTLP that does not show its address: lines on stderr as well are better than none anywhere.
  return true;
}

function field(object: unknown, name: string): unknown {
  return typeof object === 'object' && object !== null ? Reflect.get(object, name) : undefined;
}
