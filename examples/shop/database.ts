import { DatabaseSync, type SQLInputValue, type SQLOutputValue } from 'node:sqlite';
import { category } from 'opentelemetry-instrumentation-rdcp/api';

const DATABASE = category('DATABASE', {
  description: 'Every statement sent to SQLite: its text, the rows it returned or changed, the milliseconds it took',
});

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS products (
    sku TEXT PRIMARY KEY, name TEXT NOT NULL, stock INTEGER NOT NULL CHECK (stock >= 0)) STRICT;
  CREATE TABLE IF NOT EXISTS orders (
    id INTEGER PRIMARY KEY, customer TEXT NOT NULL, sku TEXT NOT NULL REFERENCES products, quantity INTEGER NOT NULL,
    cents INTEGER NOT NULL, state TEXT NOT NULL DEFAULT 'accepted', placed_at TEXT NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS orders_of_customer ON orders (customer, id);
  CREATE TABLE IF NOT EXISTS parcels (
    order_id INTEGER PRIMARY KEY REFERENCES orders, attempts INTEGER NOT NULL DEFAULT 0) STRICT;
`;

export type Row = Record<string, SQLOutputValue>;

export interface Database {
  all(sql: string, ...parameters: SQLInputValue[]): Row[];
  /** How many rows the statement changed. */
  run(sql: string, ...parameters: SQLInputValue[]): number;
  /** All statements of `work`, or none. */
  transaction<T>(work: () => T): T;
  close(): void;
}

/** Opens the shop's database: a file, or `:memory:`. */
export function openDatabase(file: string): Database {
  const connection = new DatabaseSync(file, { timeout: 200 });
  connection.exec('PRAGMA journal_mode = WAL');
  connection.exec(SCHEMA);

  function traced<T>(sql: string, work: () => T, rowsOf: (result: T) => number): T {
    return DATABASE.span('db.query', () => {
      const startedAt = performance.now();
      const result = work();
      DATABASE.debug('query', () => ({
        'db.query.text': sql,
        'db.response.returned_rows': rowsOf(result),
        'shop.milliseconds': Number((performance.now() - startedAt).toFixed(2)),
      }));
      return result;
    });
  }

  return {
    all: (sql, ...parameters) =>
      traced(
        sql,
        () => connection.prepare(sql).all(...parameters),
        (rows) => rows.length,
      ),
    run: (sql, ...parameters) =>
      traced(
        sql,
        () => Number(connection.prepare(sql).run(...parameters).changes),
        (changed) => changed,
      ),
    transaction(work) {
      connection.exec('BEGIN IMMEDIATE');
      try {
        const result = work();
        connection.exec('COMMIT');
        return result;
      } catch (error) {
        connection.exec('ROLLBACK');
        throw error;
      }
    },
    close: () => connection.close(),
  };
}
