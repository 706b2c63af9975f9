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

/** The range of a list whose rows have one height. */
export function visibleRange({
  top,
  height,
  rowHeight,
  count,
}: Viewport & { readonly rowHeight: number; readonly count: number }): Range {
  const from = Math.floor((top - MARGIN) / rowHeight);
  const to = Math.ceil((top + height + MARGIN) / rowHeight);
  return { from: Math.min(Math.max(from, 0), count), to: Math.max(Math.min(to, count), 0) };
}

/** Where each row begins, and where the last one ends. */
export function edgesOf(heights: readonly number[]): number[] {
  const edges = [0];
  for (const height of heights) edges.push((edges.at(-1) ?? 0) + height);
  return edges;
}

/** The range of a list whose rows have the edges of {@link edgesOf}. */
export function visibleUnevenRange({ top, height, edges }: Viewport & { readonly edges: readonly number[] }): Range {
  const from = firstIndex(edges, (edge) => edge > top - MARGIN) - 1;
  const to = firstIndex(edges, (edge) => edge > top + height + MARGIN);
  const last = edges.length - 1;
  return { from: Math.min(Math.max(from, 0), last), to: Math.min(to, last) };
}

interface Identified {
  readonly id: number;
}

/** The place of a row, or of the next newer one if it is gone. Ids ascend. */
export function indexOf(rows: readonly Identified[], id: number): number {
  return firstIndex(rows, (row) => row.id >= id);
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

/** The first item that passes, by bisection: all items behind it pass too. */
function firstIndex<T>(items: readonly T[], passes: (item: T) => boolean): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (passes(items[middle] as T)) high = middle;
    else low = middle + 1;
  }
  return low;
}
