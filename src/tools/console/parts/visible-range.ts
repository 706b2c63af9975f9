/** Drawn beyond each edge, in pixels, so that a quick scroll shows no blank. */
const MARGIN = 400;

/** The part of a list that is in sight. */
interface Viewport {
  /** How far the list's top is above the top of its window, in pixels. */
  readonly top: number;
  /** Height of the window, in pixels. */
  readonly height: number;
}

/** The rows to draw: from `from`, before `to`. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** The rows of a list that are in sight. @param edge where a row begins, and at `count` where the last one ends, in pixels */
export function visibleRange({
  top,
  height,
  count,
  edge,
}: Viewport & { readonly count: number; readonly edge: (index: number) => number }): Range {
  const from = firstIndex(count + 1, (at) => edge(at) > top - MARGIN) - 1;
  const to = firstIndex(count + 1, (at) => edge(at) > top + height + MARGIN);
  return { from: Math.min(Math.max(from, 0), count), to: Math.min(to, count) };
}

/** Where each row begins, and where the last one ends. */
export function edgesOf(heights: readonly number[]): number[] {
  const edges = [0];
  for (const height of heights) edges.push((edges.at(-1) ?? 0) + height);
  return edges;
}

interface Identified {
  readonly id: number;
}

/** The place of a row, or of the next newer one if it is gone. Ids ascend. */
export function indexOf(rows: readonly Identified[], id: number): number {
  return firstIndex(rows.length, (at) => (rows[at]?.id ?? id) >= id);
}

/** The row at the top of the window, and how much of it is scrolled out, in pixels. */
export function anchorAt(
  rows: readonly Identified[],
  scrollTop: number,
  rowHeight: number,
): { readonly id: number; readonly offset: number } | undefined {
  const index = Math.floor(scrollTop / rowHeight);
  const row = rows[index];
  return row && { id: row.id, offset: scrollTop - index * rowHeight };
}

/** The first index that passes, by bisection: all behind it pass too. */
function firstIndex(count: number, passes: (index: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (passes(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
