import type { AuditEntry } from '../../../protocol/audit-messages.ts';

/** Puts entries before or behind those that are known, each once. */
export function merged(
  known: readonly AuditEntry[],
  more: readonly AuditEntry[],
  where: 'before' | 'after',
): readonly AuditEntry[] {
  const ids = new Set(known.map(({ id }) => id));
  const fresh = more.filter(({ id }) => !ids.has(id));
  if (fresh.length === 0) return known;
  return where === 'before' ? [...fresh, ...known] : [...known, ...fresh];
}

/** Whether nothing lies between the known entries and newer ones. */
export function overlaps(known: readonly AuditEntry[], newer: readonly AuditEntry[]): boolean {
  const ids = new Set(known.map(({ id }) => id));
  return newer.some(({ id }) => ids.has(id));
}
