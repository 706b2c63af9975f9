import { isCategoryName } from './names.ts';

/** The calls of a category in one process: since its start, and a second. With a tenant, those of that tenant alone. */
export type CallFigures = readonly [category: string, total: number, perSecond: number, tenantId?: string];

/** What became of a category's lines. */
export interface LineCounts {
  /** Lines over its budget. */
  readonly dropped: number;
  /** Recorded calls that were written, because their work failed. */
  readonly written: number;
  /** Recorded calls whose work succeeded. */
  readonly forgotten: number;
  /** Recorded calls that the recorder had no room for. */
  readonly cut: number;
}

export const NO_LINES: LineCounts = { dropped: 0, written: 0, forgotten: 0, cut: 0 };

export function sumOfLines(one: LineCounts, other: LineCounts): LineCounts {
  return {
    dropped: one.dropped + other.dropped,
    written: one.written + other.written,
    forgotten: one.forgotten + other.forgotten,
    cut: one.cut + other.cut,
  };
}

/** What a process tells its fleet of its calls. */
export interface MemberCalls {
  /** Of the categories that were called. */
  readonly figures: readonly CallFigures[];
  /** By category, of those that have any. */
  readonly lines?: Readonly<Record<string, LineCounts>>;
  /** Whether some were left out because there were too many. */
  readonly cut?: true;
}

/** Checked by hand: a reader checks the figures of every process of a large fleet each second. */
export function isMemberCalls(value: unknown): value is MemberCalls {
  const { figures, lines = {} } = (value ?? {}) as Partial<MemberCalls>;
  if (!Array.isArray(figures) || !figures.every(isFigures)) return false;
  if (typeof lines !== 'object' || lines === null) return false;
  return Object.values(lines).every((counts: unknown) => {
    const { dropped, written, forgotten, cut } = (counts ?? {}) as Partial<LineCounts>;
    return [dropped, written, forgotten, cut].every(isCount);
  });
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
