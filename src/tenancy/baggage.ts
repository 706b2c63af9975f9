import { propagation } from '@opentelemetry/api';
import { isIdentifier } from '../protocol/names.ts';

/** The tenant that the active OpenTelemetry baggage names, read anew with each call. What is no tenant's id counts as none. */
export function baggageTenant(key: string): () => string | undefined {
  return () => {
    const value = propagation.getActiveBaggage()?.getEntry(key)?.value;
    return value !== undefined && isIdentifier(value) ? value : undefined;
  };
}
