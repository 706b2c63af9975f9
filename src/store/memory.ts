import { LRUCache } from 'lru-cache';
import type { AuditEntry } from '../protocol/messages.ts';
import { auditFilter, COUNTED_POSITION, decodeCursor, encodeCursor } from './audit-query.ts';
import { createMemoryTokens } from './memory-tokens.ts';
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
  /** Audit entries kept; the oldest are dropped beyond that, retention or not. @default 10_000 */
  readonly maxAuditEntries?: number;
  /** Replay records kept; the oldest are dropped beyond that. @default 10_000 */
  readonly maxReplays?: number;
  /** Token sessions kept; the oldest are dropped beyond that, and their users sign in again. @default 10_000 */
  readonly maxTokenSessions?: number;
}

const UNWRITTEN: ScopeState = { revision: 0, settings: new Map() };

/**
 * State of this process alone, in bounded memory: nothing outlives the process, and a busy trail loses its oldest entries
 * before their retention ends. A service that owes anybody its audit trail uses SQLite or Redis.
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): StateStore {
  const { maxAuditEntries = 10_000, maxReplays = 10_000, maxTokenSessions = 10_000 } = options;
  const scopes = new Map<ScopeKey, ScopeState>();
  const replays = new LRUCache<string, ReplayRecord>({ max: maxReplays });
  const trail = createTrail(maxAuditEntries);
  const tokens = createMemoryTokens(maxTokenSessions);
  let closed = false;

  function assertOpen(): void {
    if (closed) throw new Error('the memory store is closed');
  }

  function liveReplay(key: string, now: number): ReplayRecord | undefined {
    const record = replays.peek(key);
    return record !== undefined && record.expiresAt > now ? record : undefined;
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
    if (replay !== undefined) replays.set(replay.key, replay);
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

    // Nobody else can write here.
    subscribe: () => () => {},

    async queryAudit(query) {
      assertOpen();
      return trail.page(query);
    },

    async newestAudit() {
      assertOpen();
      return trail.newest();
    },

    async pruneAudit(now, starting = async () => true) {
      assertOpen();
      return trail.holdsEnded(now) && (await starting()) ? trail.prune(now) : 0;
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

interface Positioned {
  readonly position: number;
  readonly entry: AuditEntry;
}

/** Entries in the order they were written, each with a position that is never used again. */
function createTrail(limit: number) {
  let kept: Positioned[] = [];
  // Index of the oldest entry: those before it are dropped many at once, so that appending stays constant.
  let oldest = 0;
  let written = 0;

  /** Index of the first kept entry that is not older than a position. */
  function indexOf(position: number): number {
    let low = oldest;
    let high = kept.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((kept[middle] as Positioned).position < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  return {
    append(entry: AuditEntry): void {
      kept.push({ position: written, entry });
      written += 1;
      if (kept.length - oldest <= limit) return;
      oldest += 1;
      if (oldest < limit) return;
      kept = kept.slice(oldest);
      oldest = 0;
    },

    page(query: AuditQuery): AuditPage {
      const end =
        query.cursor === undefined ? kept.length : indexOf(Number(decodeCursor(query.cursor, COUNTED_POSITION)));
      const matches = auditFilter(query);
      const entries: AuditEntry[] = [];
      let last: number | undefined;
      for (let index = end - 1; index >= oldest; index -= 1) {
        const { position, entry } = kept[index] as Positioned;
        if (!matches(entry)) continue;
        // One match beyond the page tells that there is a next one.
        if (entries.length === query.limit) return { entries, next: encodeCursor(String(last)) };
        entries.push(entry);
        last = position;
      }
      return { entries };
    },

    newest: (): AuditEntry | undefined => (kept.length > oldest ? kept.at(-1)?.entry : undefined),

    holdsEnded: (now: number): boolean => kept.slice(oldest).some(({ entry }) => hasEnded(entry, now)),

    prune(now: number): number {
      const before = kept.length - oldest;
      kept = kept.slice(oldest).filter(({ entry }) => !hasEnded(entry, now));
      oldest = 0;
      return before - kept.length;
    },

    clear(): void {
      kept = [];
      oldest = 0;
    },
  };
}

function hasEnded({ compliance }: AuditEntry, now: number): boolean {
  return Date.parse(compliance.retainUntil) <= now;
}
