import { z } from 'zod';
import { decodeJson } from '../../wire/decode.ts';
import { isPassing, type RecordKind, type RecordStore, type RecordWrite } from '../records.ts';
import type { StoredValues } from '../stored-values.ts';
import type { Changes } from './changes.ts';
import type { Query, Row } from './connection.ts';

export interface PostgresRecordsOptions {
  readonly query: Query;
  readonly schema: string;
  readonly stored: StoredValues;
  readonly changes: Pick<Changes, 'after'>;
  /** The key under which this handle says that no NOTIFY reaches it; `undefined` while some does. */
  readonly polls: () => string | undefined;
}

export function createPostgresRecords(options: PostgresRecordsOptions): RecordStore {
  const { query, schema, stored, changes, polls } = options;
  const table = `${schema}.records`;

  /** Values are kept as JSON, because a text of PostgreSQL has no NUL. */
  function recordOf(kind: RecordKind, { value, expires_at }: Row) {
    return stored.record(kind, { value: decodeJson(z.string(), value ?? ''), expiresAt: Number(expires_at) });
  }

  function valuesOf(writes: readonly RecordWrite[], now: number): readonly unknown[] {
    const rows = writes.map(({ kind, key, record, expected }) => ({
      kind,
      key,
      ...(record && { value: JSON.stringify(record.value), expires_at: record.expiresAt }),
      compares: expected !== undefined,
      expected: typeof expected === 'string' ? JSON.stringify(expected) : null,
    }));
    return [JSON.stringify(rows), now, !isPassing(writes)];
  }

  return {
    async get(kind, keys, now) {
      const rows = await query(`SELECT * FROM ${table} WHERE kind = $1 AND key = ANY ($2) AND expires_at > $3`, [
        kind,
        keys,
        now,
      ]);
      return new Map(
        rows.flatMap((row) => {
          const record = recordOf(kind, row);
          return record === undefined ? [] : [[String(row.key), record]];
        }),
      );
    },

    async write(writes, now) {
      if (!writes.some(({ kind, record }) => kind === 'beat' && record !== undefined)) {
        const [row] = await query(`SELECT ${schema}.write_records($1, $2, $3) AS done`, valuesOf(writes, now));
        return row?.done === 't';
      }
      // With its beat a process reads the changes, so that an idle one sends one statement a second.
      const poller = polls();
      const done = await changes.after({
        text: `WITH written AS (SELECT ${schema}.write_records($4, $5, $6, $7) AS done)`,
        column: '(SELECT done FROM written)',
        values: [...valuesOf(writes, now), poller ?? null],
      });
      return done === 't';
    },

    async list(kind, after, now) {
      const rows = await query(
        `SELECT *, abs(${schema}.clock() - written_at) AS age FROM ${table}
         WHERE kind = $1 AND position > $2 AND expires_at > $3 ORDER BY position`,
        [kind, after, now],
      );
      return {
        position: Number(rows.at(-1)?.position ?? after),
        records: rows.flatMap((row) => {
          const record = recordOf(kind, row);
          return record === undefined ? [] : [{ ...record, key: String(row.key), age: Number(row.age) }];
        }),
      };
    },
  };
}
