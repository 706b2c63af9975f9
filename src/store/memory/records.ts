import type { RecordKind, RecordStore, RecordWrite, StoredRecord } from '../records.ts';

interface TimedRecord extends StoredRecord {
  readonly position: number;
  readonly writtenAt: number;
}

/**
 * Records of this process alone. New ones evict the oldest of their kind.
 * @param assertOpen throws once the store is closed
 */
export function createMemoryRecords(mostOfAKind: number, assertOpen: () => void): RecordStore & { clear(): void } {
  const kinds = new Map<RecordKind, Map<string, TimedRecord>>();
  let position = 0;

  function recordsOf(kind: RecordKind): Map<string, TimedRecord> {
    assertOpen();
    const records = kinds.get(kind) ?? new Map<string, TimedRecord>();
    kinds.set(kind, records);
    return records;
  }

  function live(kind: RecordKind, key: string, now: number): TimedRecord | undefined {
    const kept = recordsOf(kind).get(key);
    return kept !== undefined && kept.expiresAt > now ? kept : undefined;
  }

  function put({ kind, key, record }: RecordWrite, now: number): void {
    const records = recordsOf(kind);
    records.delete(key);
    if (record === undefined) return;
    for (const [old, { expiresAt }] of records) {
      if (expiresAt > now && records.size < mostOfAKind) break;
      records.delete(old);
    }
    position += 1;
    records.set(key, { ...record, position, writtenAt: performance.now() });
  }

  return {
    async get(kind, keys, now) {
      const found = keys.flatMap((key) => {
        const { value, expiresAt } = live(kind, key, now) ?? {};
        return value === undefined || expiresAt === undefined ? [] : [[key, { value, expiresAt }] as const];
      });
      return new Map(found);
    },

    async write(writes, now) {
      const isAsExpected = writes.every(
        ({ kind, key, expected }) => expected === undefined || (live(kind, key, now)?.value ?? null) === expected,
      );
      if (isAsExpected) for (const write of writes) put(write, now);
      return isAsExpected;
    },

    async list(kind, after, now) {
      const records = [...recordsOf(kind)].flatMap(([key, { value, expiresAt, ...kept }]) =>
        kept.position > after && expiresAt > now
          ? [{ key, value, expiresAt, age: performance.now() - kept.writtenAt }]
          : [],
      );
      return { position, records };
    },

    clear: () => kinds.clear(),
  };
}
