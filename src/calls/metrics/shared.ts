import type { CallsOfOthers, CategoryCalls, Counted, Measurements, SharedMeasurements } from './types.ts';

/** Without tenants, calls are counted once, for everybody. */
const EVERYBODY: readonly undefined[] = [undefined];

/** Adds the calls of other processes to those of this one. */
export function addCalls(own: Measurements, others?: CallsOfOthers): SharedMeasurements {
  const ownCalls = (tenantId: string | undefined) => (tenantId === undefined ? own : own.ofTenant(tenantId));

  function ownCallsOf({ index }: Counted, tenants: readonly string[] | undefined): CategoryCalls {
    let callsTotal = 0;
    let callsPerSecond = 0;
    if (index === undefined) return { callsTotal, callsPerSecond };
    for (const tenantId of tenants ?? EVERYBODY) {
      const calls = ownCalls(tenantId);
      callsTotal += calls.callsTotal(index);
      callsPerSecond += calls.callsPerSecond(index);
    }
    return { callsTotal, callsPerSecond };
  }

  function callsOf(category: Counted, tenants: readonly string[] | undefined): CategoryCalls {
    let { callsTotal, callsPerSecond } = ownCallsOf(category, tenants);
    if (others === undefined) return { callsTotal, callsPerSecond };
    for (const tenantId of tenants ?? EVERYBODY) {
      const theirs = others.of(category.name, tenantId);
      callsTotal += theirs?.total ?? 0;
      callsPerSecond += theirs?.rate ?? 0;
    }
    return { callsTotal, callsPerSecond };
  }

  function countedSoFar(category: Counted, tenants: readonly string[] | undefined): number {
    let counted = ownCallsOf(category, tenants).callsTotal;
    for (const tenantId of tenants ?? EVERYBODY) counted += others?.of(category.name, tenantId)?.seen ?? 0;
    return counted;
  }

  return {
    callsOf,
    ownCallsOf,
    countedSoFar,
    instances: () => others?.instances(),
    process: () => own.process(),
  };
}
