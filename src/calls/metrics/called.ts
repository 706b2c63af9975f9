import type { Gate } from '../../gate/types.ts';
import type { CallFigures, LineCounts, MemberCalls } from '../../wire/member-calls.ts';
import type { Measurements } from './types.ts';

export interface CalledOptions {
  readonly gate: Pick<Gate, 'categories' | 'tenantCalls'>;
  readonly own: Pick<Measurements, 'callsTotal' | 'callsPerSecond' | 'ofTenant'>;
}

/** The figures of the categories that were called in this process. */
export function* called({ gate, own }: CalledOptions): Generator<CallFigures> {
  for (const { index, name } of gate.categories()) {
    const total = own.callsTotal(index);
    if (total > 0) yield [name, total, own.callsPerSecond(index)];
  }
}

/** The same for each tenant. */
export function* calledByTenants({ gate, own }: CalledOptions): Generator<CallFigures> {
  for (const [tenantId, index, total] of gate.tenantCalls.entries()) {
    const name = gate.categories()[index]?.name;
    if (name !== undefined) yield [name, total, own.ofTenant(tenantId).callsPerSecond(index), tenantId];
  }
}

export interface AnnouncedOptions extends CalledOptions {
  readonly linesOf: (category: { readonly index: number }) => LineCounts;
}

/** What this process announces. @param most figures; those of the most frequent calls are kept */
export function announcedCalls(options: AnnouncedOptions, most: number): MemberCalls {
  const all = [...called(options), ...calledByTenants(options)].map(
    ([name, total, rate, ...tenant]): CallFigures => [name, total, Math.round(rate * 1000) / 1000, ...tenant],
  );
  const counted = options.gate
    .categories()
    .map((category) => [category.name, options.linesOf(category)] as const)
    .filter(([, counts]) => Object.values(counts).some((count) => count > 0));
  const lines = counted.length > 0 && { lines: Object.fromEntries(counted.slice(0, most)) };
  if (all.length <= most) return { figures: all, ...lines };
  return { figures: all.sort(([, , a], [, , b]) => b - a).slice(0, most), ...lines, cut: true };
}
