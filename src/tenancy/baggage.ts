import { propagation } from '@opentelemetry/api';
import { isIdentifier } from '../protocol/names.ts';

/** Returns a function that reads the tenant from the active OpenTelemetry baggage; `undefined` for an invalid tenant id. */
export function baggageTenant(key: string): () => string | undefined {
  return () => {
    const value = propagation.getActiveBaggage()?.getEntry(key)?.value;
    return value !== undefined && isIdentifier(value) ? value : undefined;
  };
}
