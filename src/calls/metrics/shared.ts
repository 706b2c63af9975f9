import type { CallsOfOthers, CategoryCalls, Counted, Measurements, SharedMeasurements } from './types.ts';

const NO_CALLS: CategoryCalls = { callsTotal: 0, callsPerSecond: 0 };

/** Adds the calls of other processes to those of this one. */
export function addCalls(own: Measurements, others?: CallsOfOthers): SharedMeasurements {
  const ownCalls = ({ index }: Counted, tenantId: string | undefined): CategoryCalls => {
    const calls = tenantId === undefined ? own : own.ofTenant(tenantId);
    if (index === undefined) return NO_CALLS;
    return { callsTotal: calls.callsTotal(index), callsPerSecond: calls.callsPerSecond(index) };
  };
  const othersCalls = ({ name }: Counted, tenantId: string | undefined): CategoryCalls => {
    const { total = 0, rate = 0 } = others?.of(name, tenantId) ?? {};
    return { callsTotal: total, callsPerSecond: rate };
  };
  const all = [ownCalls, othersCalls];
  return {
    callsOf: (category, tenants) =>
      sumOf(eachOf(tenants).flatMap((tenantId) => all.map((callsIn) => callsIn(category, tenantId)))),
    ownCallsOf: (category, tenants) => sumOf(eachOf(tenants).map((tenantId) => ownCalls(category, tenantId))),
    countedSoFar: (category, tenants) =>
      eachOf(tenants).reduce(
        (sum, tenantId) =>
          sum + ownCalls(category, tenantId).callsTotal + (others?.of(category.name, tenantId)?.seen ?? 0),
        0,
      ),
    instances: () => others?.instances(),
    process: () => own.process(),
  };
}

/** Without tenants, calls are counted once, for everybody. */
const eachOf = (tenants: readonly string[] | undefined): readonly (string | undefined)[] => tenants ?? [undefined];

function sumOf(calls: readonly CategoryCalls[]): CategoryCalls {
  return calls.reduce(
    (sum, each) => ({
      callsTotal: sum.callsTotal + each.callsTotal,
      callsPerSecond: sum.callsPerSecond + each.callsPerSecond,
    }),
    NO_CALLS,
  );
}
