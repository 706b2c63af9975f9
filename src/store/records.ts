/** What a record is about. The store need not know more of it than whether it is listed, and whether it lasts. */
export type RecordKind = 'session' | 'revocation' | 'beat' | 'member' | 'categories';

/** The kinds of which all records are asked for together. */
export type ListedKind = 'revocation' | 'beat';

/** The kinds that a crash of the store may take: they are written again within seconds. */
export const PASSING_KINDS: ReadonlySet<RecordKind> = new Set(['beat', 'member', 'categories']);

/** A value that ends by itself, under a key that is unique within its kind. */
export interface StoredRecord {
  /** Text of any characters. */
  readonly value: string;
  /** When it ends; wall time, milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Puts a record in the place of what is under its key, or removes it. */
export interface RecordWrite {
  /** What the record is about. */
  readonly kind: RecordKind;
  /** Unique within its kind. */
  readonly key: string;
  /** @default the record is removed */
  readonly record?: StoredRecord | undefined;
  /** The write takes effect only while the record has this value; `null`: while there is none. @default whatever there is */
  readonly expected?: string | null | undefined;
}

/** A record of a list. */
export interface ListedRecord extends StoredRecord {
  /** Unique within its kind. */
  readonly key: string;
  /** Milliseconds since it was written last, by the store's own clock. */
  readonly age: number;
}

/** The records of a kind, or those that were written after a position. */
export interface RecordList {
  /** Where to continue reading; opaque outside the store. */
  readonly position: number;
  /** May repeat what was read before. */
  readonly records: readonly ListedRecord[];
}

/**
 * Keeps short texts that end by themselves, for one process or for all that share the store. Methods reject when the store
 * cannot be reached. An expired record counts as none; `now` is wall time, milliseconds since the epoch.
 */
export interface RecordStore {
  /** The records of a kind under these keys; those that do not exist are left out. */
  get(kind: RecordKind, keys: readonly string[], now: number): Promise<ReadonlyMap<string, StoredRecord>>;
  /** Writes all of them, or none and resolves with false where one is not as expected. All are of kinds that last, or none is. */
  write(writes: readonly RecordWrite[], now: number): Promise<boolean>;
  /** Those written after a position; 0 reads all. */
  list(kind: ListedKind, after: number, now: number): Promise<RecordList>;
  /** Milliseconds between two writes of the record by which a process says that it is there; may grow with their number. @default 1000 */
  beatMs?(): number;
}

/** Whether these writes may be lost in a crash. */
export function isPassing(writes: readonly RecordWrite[]): boolean {
  return writes.every(({ kind }) => PASSING_KINDS.has(kind));
}
