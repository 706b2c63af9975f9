import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { isPassing, type RecordKind, type RecordStore, type RecordWrite, type StoredRecord } from '../records.ts';
import type { StoredValues } from '../stored-values.ts';
import { prepareRead } from './file.ts';
import { hostTime, IN_PASSING_MS, type SqliteHandle } from './handle.ts';

export interface RecordStatements {
  readonly records: ReturnType<typeof prepareRecords>;
}

type Row = Record<string, SQLOutputValue>;

export function prepareRecords(database: DatabaseSync) {
  return {
    read: prepareRead(database, 'SELECT * FROM record WHERE kind = ? AND key = ? AND expires_at > ?'),
    list: prepareRead(
      database,
      'SELECT * FROM record WHERE kind = ? AND position > ? AND expires_at > ? ORDER BY position',
    ),
    put: database.prepare(
      'INSERT OR REPLACE INTO record (kind, key, value, expires_at, written_at) VALUES (?, ?, ?, ?, ?)',
    ),
    remove: database.prepare('DELETE FROM record WHERE kind = ? AND key = ?'),
    dropEnded: database.prepare('DELETE FROM record WHERE expires_at <= ?'),
  };
}

export function createSqliteRecords(
  { read, write, sync }: SqliteHandle<RecordStatements>,
  stored: StoredValues,
): RecordStore {
  function recordOf({ kind, value, expires_at }: Row): StoredRecord | undefined {
    return stored.record(kind as RecordKind, { value, expiresAt: Number(expires_at) });
  }

  function isAsExpected({ records }: RecordStatements, { kind, key, expected }: RecordWrite, now: number): boolean {
    if (expected === undefined) return true;
    const row = records.read.get(kind, key, now);
    return ((row && recordOf(row))?.value ?? null) === expected;
  }

  return {
    get: (kind, keys, now) =>
      read(({ records }) => {
        const found = keys.map((key) => [key, records.read.get(kind, key, now)] as const);
        return new Map(
          found.flatMap(([key, row]) => {
            const record = row && recordOf(row);
            return record === undefined ? [] : [[key, record]];
          }),
        );
      }),

    async write(writes, now) {
      const passing = isPassing(writes);
      const written = await write(
        (statements) => {
          if (!writes.every((each) => isAsExpected(statements, each, now))) return false;
          const { records } = statements;
          records.dropEnded.run(now);
          for (const { kind, key, record } of writes) {
            if (record === undefined) records.remove.run(kind, key);
            else records.put.run(kind, key, record.value, record.expiresAt, hostTime());
          }
          return true;
        },
        passing ? IN_PASSING_MS : undefined,
      );
      if (written && !passing) await sync();
      return written;
    },

    list: (kind, after, now) =>
      read(({ records }) => {
        const rows = records.list.all(kind, after, now);
        const time = hostTime();
        return {
          position: Number(rows.at(-1)?.position ?? after),
          records: rows.flatMap((row) => {
            const record = recordOf(row);
            const age = Math.abs(time - Number(row.written_at));
            return record === undefined ? [] : [{ ...record, key: String(row.key), age }];
          }),
        };
      }),
  };
}
