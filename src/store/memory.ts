import { LRUCache } from 'lru-cache';
import type { AuditEntry } from '../protocol/audit-messages.ts';
import { auditFilter, COUNTED_POSITION, decodeCursor, encodeCursor, PAGE_BYTES } from './audit-query.ts';
import { createMemoryTokens } from './memory-tokens.ts';
import { type Placed, planPrune } from './prune-plan.ts';
import type {
  AuditPage,
  AuditQuery,
  Commit,
  CommitResult,
  ReplayRecord,
  ScopeKey,
  ScopeState,
  StateStore,
} from './state-store.ts';

export interface MemoryStoreOptions {
  /** Bytes kept of audit entries and replay records together; the oldest are dropped beyond that. @default 64 MiB */
  readonly maxBytes?: number;
  /** Audit entries kept; the oldest are dropped beyond that, retention or not. @default 10_000 */
  readonly maxAuditEntries?: number;
  /** Replay records kept; the oldest are dropped beyond that. @default as many as there are bytes for */
  readonly maxReplays?: number;
  /** Token sessions kept; the oldest are dropped beyond that, and their users sign in again. @default 10_000 */
  readonly maxTokenSessions?: number;
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
  const { maxBytes = DEFAULT_BYTES, maxAuditEntries = 10_000, maxReplays, maxTokenSessions = 10_000 } = options;
  const scopes = new Map<ScopeKey, ScopeState>();
  const maxReplayBytes = Math.floor(maxBytes * REPLAY_SHARE);
  const replays = new LRUCache<string, ReplayRecord>({
    // With `max`, an LRUCache allocates memory for all records up front.
    ...(maxReplays !== undefined && { max: maxReplays }),
    maxSize: maxReplayBytes,
    sizeCalculation: ({ key, response }) => OVERHEAD_BYTES + bytesOf(key) + bytesOf(response),
  });
  const trail = createTrail({ entries: maxAuditEntries, bytes: maxBytes - maxReplayBytes });
  const tokens = createMemoryTokens(maxTokenSessions);
  let closed = false;

  function assertOpen(): void {
    if (closed) throw new Error('the memory store is closed');
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
      scopes.set(state.scope, { revision: current.revision + 1, settings: state.settings, changedAt: now });
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
    tokens,

    async load() {
      assertOpen();
      return new Map(scopes);
    },

    async commit(commit) {
      assertOpen();
      return apply(commit);
    },

    async commitAll(commits) {
      assertOpen();
      const results: CommitResult[] = [];
      for (const commit of commits) {
        results.push(apply(commit));
        if (results.at(-1)?.outcome !== 'committed') break;
      }
      return results;
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

    async pruneAudit(now, starting = async () => true, mayDrop = () => true) {
      assertOpen();
      if (!trail.holdsEnded(now)) return 0;
      const { places, heads } = await planPrune(trail.batches(), now, mayDrop);
      return places.length > 0 && (await starting(heads)) ? trail.drop(places) : 0;
    },

    async check() {
      assertOpen();
    },

    async close() {
      closed = true;
      scopes.clear();
      replays.clear();
      trail.clear();
      tokens.clear();
    },
  };
}

interface Kept {
  readonly position: number;
  /** The entry as JSON: a string takes a third of the memory, and the garbage collector does not traverse it. */
  readonly json: string;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly retainUntil: number;
}

interface Bounds {
  readonly entries: number;
  readonly bytes: number;
}

/**
 * Entries in the order of writing, each with a position that is never reused. Refusals have a share of the memory and
 * evict only refusals. Otherwise any client of the endpoint could push an operator's entries out.
 */
function createTrail(bounds: Bounds) {
  const refusals = createEntries(shareOf(bounds, REFUSAL_SHARE));
  const others = createEntries(shareOf(bounds, 1 - REFUSAL_SHARE));
  const both = [refusals, others];
  let written = 0;

  /** The newest kept entry before a position. */
  function before(position: number): Kept | undefined {
    const [refusal, other] = both.map((entries) => entries.before(position));
    if (refusal === undefined || other === undefined) return refusal ?? other;
    return refusal.position > other.position ? refusal : other;
  }

  /** The oldest kept entry from a position on. */
  function from(position: number): Kept | undefined {
    const [refusal, other] = both.map((entries) => entries.from(position));
    if (refusal === undefined || other === undefined) return refusal ?? other;
    return refusal.position < other.position ? refusal : other;
  }

  return {
    append(entry: AuditEntry): void {
      const json = JSON.stringify(entry);
      const kept = {
        position: written,
        json,
        bytes: OVERHEAD_BYTES + bytesOf(json),
        retainUntil: Date.parse(entry.compliance.retainUntil),
      };
      written += 1;
      (entry.outcome === 'denied' ? refusals : others).append(kept);
    },

    /** Works in slices, so that a long search does not block the event loop. */
    async page(query: AuditQuery): Promise<AuditPage> {
      const matches = auditFilter(query);
      const entries: AuditEntry[] = [];
      let end = query.cursor === undefined ? written : Number(decodeCursor(query.cursor, COUNTED_POSITION));
      let last = end;
      let pageBytes = 0;
      for (let parsed = 0; ; ) {
        const kept = before(end);
        if (kept === undefined) return { entries };
        const { position, json, bytes } = kept;
        const entry: AuditEntry = JSON.parse(json);
        end = position;
        parsed += bytes;
        if (matches(entry)) {
          // One match beyond the page shows that there is a next page.
          if (entries.length === query.limit || (entries.length > 0 && pageBytes + bytes > PAGE_BYTES))
            return { entries, next: encodeCursor(String(last)) };
          entries.push(entry);
          pageBytes += bytes;
          last = position;
        }
        if (parsed < SLICE_BYTES) continue;
        parsed = 0;
        await new Promise(setImmediate);
      }
    },

    newest(): AuditEntry | undefined {
      const newest = before(written);
      return newest && JSON.parse(newest.json);
    },

    holdsEnded: (now: number): boolean => both.some((entries) => entries.holdsEnded(now)),

    /** Oldest first, a slice at a time. */
    async *batches(): AsyncGenerator<readonly Placed<number>[]> {
      for (let position = 0; position < written; ) {
        const batch: Placed<number>[] = [];
        for (let bytes = 0; bytes < SLICE_BYTES; ) {
          const kept = from(position);
          if (kept === undefined) break;
          batch.push({ place: kept.position, entry: JSON.parse(kept.json) });
          bytes += kept.bytes;
          position = kept.position + 1;
        }
        if (batch.length === 0) return;
        yield batch;
        await new Promise(setImmediate);
      }
    },

    drop(positions: readonly number[]): number {
      const dropped = new Set(positions);
      return both.reduce((count, entries) => count + entries.drop(dropped), 0);
    },

    clear(): void {
      for (const entries of both) entries.clear();
    },
  };
}

function shareOf({ entries, bytes }: Bounds, share: number): Bounds {
  return { entries: Math.ceil(entries * share), bytes: Math.ceil(bytes * share) };
}

/** Entries in the order of writing, bounded: the oldest are dropped. The newest is always kept. */
function createEntries(most: Bounds) {
  let kept: Kept[] = [];
  // Index of the oldest entry. Dropped entries are removed in bulk, so that appending stays constant.
  let oldest = 0;
  let bytes = 0;

  /** Index of the first kept entry at or after a position. */
  function indexOf(position: number): number {
    let low = oldest;
    let high = kept.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((kept[middle] as Kept).position < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function dropOldest(): void {
    bytes -= (kept[oldest] as Kept).bytes;
    oldest += 1;
    if (oldest * 2 < kept.length) return;
    kept = kept.slice(oldest);
    oldest = 0;
  }

  return {
    append(entry: Kept): void {
      kept.push(entry);
      bytes += entry.bytes;
      while (kept.length - oldest > 1 && (kept.length - oldest > most.entries || bytes > most.bytes)) dropOldest();
    },

    before(position: number): Kept | undefined {
      const index = indexOf(position) - 1;
      return index < oldest ? undefined : kept[index];
    },

    holdsEnded: (now: number): boolean => kept.slice(oldest).some(({ retainUntil }) => retainUntil <= now),

    from: (position: number): Kept | undefined => kept[indexOf(position)],

    drop(positions: ReadonlySet<number>): number {
      const count = kept.length - oldest;
      kept = kept.slice(oldest).filter(({ position }) => !positions.has(position));
      oldest = 0;
      bytes = kept.reduce((sum, entry) => sum + entry.bytes, 0);
      return count - kept.length;
    },

    clear(): void {
      kept = [];
      oldest = 0;
      bytes = 0;
    },
  };
}

/** V8 stores Latin-1 strings with one byte per character, others with two. */
function bytesOf(text: string): number {
  return /[\u0100-\uffff]/.test(text) ? text.length * 2 : text.length;
}
