export interface Viewport {
  /** How far the list's top is above the top of what it is seen through, in pixels. */
  readonly top: number;
  /** Of what it is seen through, in pixels. */
  readonly height: number;
}

export interface EvenRows extends Viewport {
  readonly rowHeight: number;
  readonly count: number;
}

export interface UnevenRows extends Viewport {
  /** Where each row begins, and where the last one ends, in pixels. */
  readonly edges: readonly number[];
}

/** Drawn beyond each edge, in pixels, so that a quick scroll shows no blank. */
const MARGIN = 400;

/** Where each row begins, and where the last one ends. */
export function edgesOf(heights: readonly number[]): number[] {
  const edges = [0];
  for (const height of heights) edges.push((edges.at(-1) ?? 0) + height);
  return edges;
}

/** Which rows to draw: from `from`, before `to`. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

export function visibleRange({ top, height, rowHeight, count }: EvenRows): Range {
  const from = Math.floor((top - MARGIN) / rowHeight);
  const to = Math.ceil((top + height + MARGIN) / rowHeight);
  return { from: Math.min(Math.max(from, 0), count), to: Math.max(Math.min(to, count), 0) };
}

export function visibleUnevenRange({ top, height, edges }: UnevenRows): Range {
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
