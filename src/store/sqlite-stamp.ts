import type { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { isForeign, pragma } from './sqlite-file.ts';

/** How far a database has come. No number of a file ever falls. */
export interface Stamp {
  /** Id of the file's history; empty before the tables are there. */
  readonly history: string;
  /** Rows ever inserted into the tables that number them, which every audited change does. */
  readonly rows: number;
  /** SQLite's count of changes to the schema. A vacuum moves pages, and is one. */
  readonly layout: number;
}

export function stampOf(database: DatabaseSync): Stamp {
  const layout = Number(pragma(database, 'schema_version'));
  const tables = database.prepare("SELECT count(*) AS count FROM sqlite_schema WHERE name = 'history'").get();
  if (tables?.count === 0) return { history: '', rows: 0, layout };
  const row = database
    .prepare('SELECT (SELECT id FROM history) AS history, (SELECT total(seq) FROM sqlite_sequence) AS rows')
    .get();
  return { history: String(row?.history), rows: Number(row?.rows), layout };
}

/**
 * Reads the file itself, without its log, in 0.25 ms. SQLite takes an immutable file as it is, without a lock, and a
 * connection to it releases no lock of the process's other connections.
 * @returns `'foreign'` when it is no database; `undefined` when it could not be read, also because a checkpoint is incomplete:
 * it writes the number of pages first, and on a full disk, or after a crash, not the pages
 */
export function stampOfFile(path: string): Stamp | 'foreign' | undefined {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  const url = pathToFileURL(path);
  url.searchParams.set('immutable', '1');
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(url, { readOnly: true });
    return stampOf(database);
  } catch (error) {
    return isForeign(error) ? 'foreign' : undefined;
  } finally {
    database?.close();
  }
}

/** Whether a file can have come from its earlier state by checkpoints of what the database holds. */
export function canFollow(file: Stamp, earlier: Stamp, database: Stamp): boolean {
  return (
    (file.history === earlier.history || file.history === database.history) &&
    earlier.rows <= file.rows &&
    file.rows <= database.rows &&
    earlier.layout <= file.layout &&
    file.layout <= database.layout
  );
}
