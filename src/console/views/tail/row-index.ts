interface Identified {
  readonly id: number;
}

/** The place of a row, or of the next newer one if it is gone. Ids ascend. */
export function indexOf(rows: readonly Identified[], id: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.id ?? 0) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The row at the top of what is seen, and how much of it is scrolled out, in pixels. */
export function anchorAt(
  rows: readonly Identified[],
  scrollTop: number,
  rowHeight: number,
): { readonly id: number; readonly offset: number } | undefined {
  const index = Math.floor(scrollTop / rowHeight);
  const row = rows[index];
  return row && { id: row.id, offset: scrollTop - index * rowHeight };
}
