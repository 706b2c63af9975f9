import type { FleetMember } from '../../../protocol/messages.ts';

export interface FleetSummary {
  readonly total: number;
  readonly pending: number;
  /** Versions of the package or service, the most common one first. */
  readonly versions: readonly (readonly [version: string, count: number])[];
}

export function summaryOf(members: readonly FleetMember[]): FleetSummary {
  return {
    total: members.length,
    pending: members.filter(({ pending }) => pending).length,
    versions: [...Map.groupBy(members, ({ version = '—' }) => version)]
      .map(([version, { length }]) => [version, length] as const)
      .sort(([, a], [, b]) => b - a),
  };
}

/** Those that a search finds, in host, process id, id, service or version; the ones that are behind first. */
export function foundIn(members: readonly FleetMember[], search: string): readonly FleetMember[] {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const found = members.filter((member) => {
    const { host, pid, id, service, version = '' } = member;
    const text = `${host} ${host}:${pid} ${id} ${service} ${version}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return found.toSorted((a, b) => Number(b.pending) - Number(a.pending));
}

/** How many revisions a process lacks; `undefined` where it has applied none. */
export function behind(member: FleetMember, revision: number): number | undefined {
  return member.applied === undefined ? undefined : Math.max(0, revision - member.applied);
}
