import { DatabaseSync } from 'node:sqlite';

/** Changes a SQLite file as another program does that may write it. */
export function tamper(file: string, sql: string): void {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
}
