import { LRUCache } from 'lru-cache';
import type { AuditEntry } from '../../wire/audit-messages.ts';
import { unwritten } from '../../wire/errors.ts';
import { timers } from '../../wire/time/timers.ts';
import { auditFilter, countedPosition, type Hit, pageOf } from '../audit-query.ts';
import { prune } from '../prune-plan.ts';
import type { RecordKind, RecordStore, RecordWrite, StoredRecord } from '../records.ts';
import type {
  AuditPage,
  AuditQuery,
  Commit,
  CommitResult,
  ReplayRecord,
  ScopeKey,
  ScopeState,
  StateStore,
} from '../state-store.ts';

interface MemoryStoreOptions {
  /** Bytes kept of audit entries and replay records together; the oldest are dropped beyond that. @default 64 MiB */
  readonly maxBytes?: number;
  /** Audit entries kept; the oldest are dropped beyond that, retention or not. @default 10_000 */
  readonly maxAuditEntries?: number;
  /** Replay records kept; the oldest are dropped beyond that. @default as many as there are bytes for */
  readonly maxReplays?: number;
  /** Records kept of each kind; the oldest are dropped beyond that, and users of its token sessions sign in again. @default 10_000 */
  readonly maxRecords?: number;
}

const DEFAULT_BYTES = 64 * 1024 * 1024;
/** Share of the bytes for replay records: they live for minutes, the trail for months. */
const REPLAY_SHARE = 0.25;
/** Share of the trail for refusals. */
const REFUSAL_SHARE = 0.2;
/** Memory per entry or record beside its text, as measured. */
const OVERHEAD_BYTES = 200;
/** Read in one turn of the event loop: some milliseconds. */
const SLICE_BYTES = 256 * 1024;

const UNWRITTEN: ScopeState = { revision: 0, settings: new Map() };

/**
 * State of this process alone, in bounded memory. Nothing outlives the process, and a busy trail drops its oldest
 * entries before their retention ends. Use SQLite or Redis when the audit trail must be retained.
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): StateStore {
  const { maxBytes = DEFAULT_BYTES, maxAuditEntries = 10_000, maxReplays, maxRecords = 10_000 } = options;
  const scopes = new Map<ScopeKey, ScopeState>();
  const maxReplayBytes = Math.floor(maxBytes * REPLAY_SHARE);
  const replays = new LRUCache<string, ReplayRecord>({
    // With `max`, an LRUCache allocates memory for all records up front.
    ...(maxReplays !== undefined && { max: maxReplays }),
    maxSize: maxReplayBytes,
    sizeCalculation: ({ key, response }) => OVERHEAD_BYTES + bytesOf(key) + bytesOf(response),
  });
  const trail = new MemoryTrail(maxAuditEntries, maxBytes - maxReplayBytes);
  const records = createMemoryRecords(maxRecords, assertOpen);
  let closed = false;

  function assertOpen(): void {
    if (closed) throw unwritten(new Error('the memory store is closed'));
  }

  function liveReplay(key: string, now: number): ReplayRecord | undefined {
    const record = replays.peek(key);
    return record !== undefined && record.expiresAt > now ? record : undefined;
  }

  /** All records live equally long, so the expired ones are the oldest. */
  function dropEndedReplays(now: number): void {
    for (const key of replays.rkeys()) {
      if (replays.peek(key)!.expiresAt > now) return;
      replays.delete(key);
    }
  }

  function apply({ state, audit, replay, now }: Commit): CommitResult {
    const answered = replay && liveReplay(replay.key, now);
    if (answered !== undefined) return { outcome: 'replayed', replay: answered };
    if (state !== undefined) {
      const current = scopes.get(state.scope) ?? UNWRITTEN;
      if (current.revision !== state.expectedRevision) return { outcome: 'conflict', current };
      const { scope, settings, activations } = state;
      scopes.set(scope, { revision: current.revision + 1, settings, activations, changedAt: now });
    }
    trail.append(audit);
    if (replay !== undefined) {
      dropEndedReplays(now);
      replays.set(replay.key, replay);
    }
    return state === undefined
      ? { outcome: 'committed' }
      : { outcome: 'committed', revision: state.expectedRevision + 1 };
  }

  return {
    name: 'memory',
    shared: false,
    records,

    async load() {
      assertOpen();
      return new Map(scopes);
    },

    async commit(commit) {
      assertOpen();
      return apply(commit);
    },

    async findReplay(key, now) {
      assertOpen();
      return liveReplay(key, now);
    },

    // No other process can write here.
    subscribe: () => () => {},

    async queryAudit(query) {
      assertOpen();
      return trail.page(query);
    },

    async newestAudit() {
      assertOpen();
      return trail.newest();
    },

    async pruneAudit(...args) {
      assertOpen();
      return trail.prune(...args);
    },

    async check() {
      assertOpen();
    },

    async close() {
      closed = true;
      scopes.clear();
      replays.clear();
      trail.clear();
      records.clear();
    },
  };
}

/** The part of the memory that one kind of entry may take. */
interface Quota {
  readonly mostEntries: number;
  readonly mostBytes: number;
  entries: number;
  bytes: number;
}

interface StoredEntry {
  readonly position: number;
  /** The entry as JSON: a string takes a third of the memory, and the garbage collector does not traverse it. */
  readonly json: string;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly retainUntil: number;
  readonly quota: Quota;
}

/**
 * Entries in the order of writing, each with a position that is never reused. Refusals have a share of the memory and
 * evict only refusals. Otherwise any client of the endpoint could push an operator's entries out.
 */
class MemoryTrail {
  readonly #refusals: Quota;
  readonly #others: Quota;
  #kept: StoredEntry[] = [];
  #written = 0;

  constructor(entries: number, bytes: number) {
    const quota = (part: number): Quota => ({
      mostEntries: Math.ceil(entries * part),
      mostBytes: Math.ceil(bytes * part),
      entries: 0,
      bytes: 0,
    });
    this.#refusals = quota(REFUSAL_SHARE);
    this.#others = quota(1 - REFUSAL_SHARE);
  }

  /** The newest entry of each quota is always kept. */
  append(entry: AuditEntry): void {
    const json = JSON.stringify(entry);
    const bytes = OVERHEAD_BYTES + bytesOf(json);
    const quota = entry.outcome === 'denied' ? this.#refusals : this.#others;
    const retainUntil = Date.parse(entry.compliance.retainUntil);
    this.#kept.push({ position: this.#written, json, bytes, retainUntil, quota });
    this.#written += 1;
    quota.entries += 1;
    quota.bytes += bytes;
    while (quota.entries > 1 && (quota.entries > quota.mostEntries || quota.bytes > quota.mostBytes)) {
      const oldest = this.#kept.findIndex((kept) => kept.quota === quota);
      this.#forget(this.#kept.splice(oldest, 1));
    }
  }

  page(query: AuditQuery): Promise<AuditPage> {
    const end = query.cursor === undefined ? this.#written : countedPosition(query.cursor);
    const newestFirst = this.#kept.filter(({ position }) => position < end).reverse();
    return pageOf({ found: parsed(newestFirst), limit: query.limit, matches: auditFilter(query) });
  }

  newest(): AuditEntry | undefined {
    const newest = this.#kept.at(-1);
    return newest && JSON.parse(newest.json);
  }

  async prune(...args: Parameters<StateStore['pruneAudit']>): Promise<number> {
    if (!this.#kept.some(({ retainUntil }) => retainUntil <= args[0])) return 0;
    const oldestFirst = [...this.#kept];
    async function* batches() {
      for await (const { position, entry } of parsed(oldestFirst)) yield [{ place: position, entry }];
    }
    return prune({ batches, drop: (places) => this.#drop(new Set(places)) }, ...args);
  }

  clear(): void {
    this.#kept = [];
  }

  #drop(positions: ReadonlySet<string>): number {
    const dropped = this.#kept.filter(({ position }) => positions.has(String(position)));
    this.#kept = this.#kept.filter(({ position }) => !positions.has(String(position)));
    this.#forget(dropped);
    return dropped.length;
  }

  #forget(dropped: readonly StoredEntry[]): void {
    for (const { quota, bytes } of dropped) {
      quota.entries -= 1;
      quota.bytes -= bytes;
    }
  }
}

/** Parses entries in slices, so that a long search does not block the event loop. */
async function* parsed(all: readonly StoredEntry[]): AsyncGenerator<Hit> {
  let slice = 0;
  for (const { position, json, bytes } of all) {
    if (slice >= SLICE_BYTES) {
      slice = 0;
      await new Promise(timers.setImmediate);
    }
    slice += bytes;
    yield { position: String(position), entry: JSON.parse(json), bytes };
  }
}

/** V8 stores Latin-1 strings with one byte per character, others with two. */
function bytesOf(text: string): number {
  return /[\u0100-\uffff]/.test(text) ? text.length * 2 : text.length;
}

interface TimedRecord extends StoredRecord {
  readonly position: number;
  readonly writtenAt: number;
}

/**
 * Records of this process alone. New ones evict the oldest of their kind.
 * @param assertOpen throws once the store is closed
 */
function createMemoryRecords(mostOfAKind: number, assertOpen: () => void): RecordStore & { clear(): void } {
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
