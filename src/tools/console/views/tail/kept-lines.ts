import type { LineRow, Row } from './row.ts';
import type { TailSettings } from './tail-session.ts';

/** The tab keeps them under this name until it is closed, if the reader wants it. */
const STORED = 'rdcp.lines';
/** Most UTF-16 code units: browsers give an origin about five million. */
const MOST_CHARACTERS = 2_000_000;

/** Lines of a tail, as a reload finds them. */
interface KeptLines {
  /** Who read them. */
  readonly reader: string;
  readonly settings: TailSettings;
  readonly rows: readonly LineRow[];
}

/** Keeps the newest lines, as many as there is room for. Storage may be full or switched off: then none are kept. */
export function keepLines(
  reader: string,
  settings: TailSettings,
  rows: readonly Row[],
  storage = sessionStorage,
): void {
  const kept: LineRow[] = [];
  let size = 0;
  for (const row of rows.toReversed()) {
    if (row.kind !== 'line') continue;
    size += JSON.stringify(row).length;
    if (size > MOST_CHARACTERS) break;
    kept.unshift(row);
  }
  try {
    storage.setItem(STORED, JSON.stringify({ reader, settings, rows: kept } satisfies KeptLines));
  } catch {
    storage.removeItem(STORED);
  }
}

/** Takes the kept lines out of the tab's storage. Those of another reader are forgotten. */
export function takeLines(reader: string, storage = sessionStorage): KeptLines | undefined {
  try {
    const kept = JSON.parse(storage.getItem(STORED) ?? '{}') as Partial<KeptLines>;
    storage.removeItem(STORED);
    return kept.reader === reader ? (kept as KeptLines) : undefined;
  } catch {
    return undefined;
  }
}
