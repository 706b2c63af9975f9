export interface Viewport {
  /** How far the list's top is above the top of the window, in pixels. */
  readonly top: number;
  /** Of the window, in pixels. */
  readonly height: number;
  /** Where each row begins, and where the last one ends, in pixels. */
  readonly edges: readonly number[];
}

/** Drawn beyond each edge of the window, in pixels, so that a quick scroll shows no blank. */
const MARGIN = 400;

/** Where each row begins, and where the last one ends. */
export function edgesOf(heights: readonly number[]): number[] {
  let end = 0;
  return [0, ...heights.map((height) => (end += height))];
}

/** Which rows to draw: from `from`, before `to`. */
export function visibleRange({ top, height, edges }: Viewport): { from: number; to: number } {
  const from = firstAfter(edges, top - MARGIN) - 1;
  const to = firstAfter(edges, top + height + MARGIN);
  const last = edges.length - 1;
  return { from: Math.min(Math.max(from, 0), last), to: Math.min(to, last) };
}

/** The index of the first edge beyond a place. */
function firstAfter(edges: readonly number[], place: number): number {
  let low = 0;
  let high = edges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((edges[middle] ?? 0) > place) high = middle;
    else low = middle + 1;
  }
  return low;
}
