import { isCategoryName } from './names.ts';

/** The calls of a category in one process: since its start, and a second. With a tenant, those of that tenant alone. */
export type CallFigures = readonly [category: string, total: number, perSecond: number, tenantId?: string];

/** What a process tells its fleet of its calls. */
export interface MemberCalls {
  /** Of the categories that were called. */
  readonly figures: readonly CallFigures[];
  /** Whether some were left out because there were too many. */
  readonly cut?: true;
}

/** Checked by hand: a reader checks the figures of every process of a large fleet each second. */
export function isMemberCalls(value: unknown): value is MemberCalls {
  const { figures } = (value ?? {}) as Partial<MemberCalls>;
  return Array.isArray(figures) && figures.every(isFigures);
}

function isFigures(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  const [category, total, perSecond, tenantId] = value as readonly unknown[];
  return (
    typeof category === 'string' &&
    isCategoryName(category) &&
    isCount(total) &&
    isCount(perSecond) &&
    (tenantId === undefined || typeof tenantId === 'string')
  );
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}
