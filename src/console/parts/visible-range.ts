export interface Viewport {
  /** How far the list's top is above the top of the window, in pixels. */
  readonly top: number;
  /** Of the window, in pixels. */
  readonly height: number;
  readonly rowHeight: number;
  readonly count: number;
}

/** Rows drawn beyond each edge, so that a quick scroll shows no blank. */
const MARGIN = 8;

/** Which rows to draw: from `from`, before `to`. */
export function visibleRange({ top, height, rowHeight, count }: Viewport): { from: number; to: number } {
  const from = Math.floor(top / rowHeight) - MARGIN;
  const to = Math.ceil((top + height) / rowHeight) + MARGIN;
  return { from: Math.min(Math.max(from, 0), count), to: Math.max(Math.min(to, count), 0) };
}
