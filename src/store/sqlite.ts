import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { diagnostics } from '../diagnostics.ts';
import { createSqliteTrail } from './sqlite-audit.ts';
import { isBusy } from './sqlite-file.ts';
import { createSqliteFleet, prepareFleet } from './sqlite-fleet.ts';
import { createSqliteHandle } from './sqlite-handle.ts';
import { createSqliteLock } from './sqlite-lock.ts';
import { createSqliteMessages, prepareMessages } from './sqlite-messages.ts';
import { applyCommit, LOADED_AT_ONCE, prepareScopes, replayOf, scopeState } from './sqlite-scopes.ts';
import { createSqliteTokens, prepareTokens } from './sqlite-tokens.ts';
import type { Commit, CommitResult, ScopeKey, ScopeState, StateStore, StoreReset } from './state-store.ts';
import { Subscribers } from './subscribers.ts';

/** Poll interval for writes by other processes and for changed files, in milliseconds. */
const POLL_MS = 100;

/** Audit entries kept in a temporary file. */
const MAX_PASSING_ENTRIES = 10_000;

export interface SqliteStoreOptions {
  /** False for a temporary file: nothing is synced to disk, and the oldest audit entries are dropped. @default true */
  readonly lasting?: boolean;
  /** Returns a number from 0 to 1, for the pauses of writes that wait for another process. @default Math.random */
  readonly random?: () => number;
}

/**
 * State in one SQLite file, shared by the processes of one host. A commit is one transaction, synced to disk before it
 * is acknowledged. The file must be on a local disk, because the write-ahead log needs shared memory.
 *
 * SQLite runs in the calling thread; a commit takes a fraction of a millisecond. While another process holds the lock, a
 * write is retried for half a second, and the event loop runs meanwhile. A commit with `syncLater` returns before the
 * disk sync, which runs in another thread and covers several commits.
 *
 * A change is never acknowledged in a file or log that no longer exists at its path. Work on a missing, replaced,
 * truncated or overwritten file rejects until the file is complete; its content is in force then. `onReset` reports content older than
 * what was known.
 * @param file the path; created with mode 0600 if missing
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` when the file cannot be used
 */
export function createSqliteStore(
  file: string,
  { lasting = true, random = Math.random }: SqliteStoreOptions = {},
): StateStore {
  const writer = randomUUID();
  const subscribers = new Subscribers();
  const resets = new Set<{ readonly listener: (reset: StoreReset) => void }>();
  const now = () => Date.now();
  const monotonic = () => performance.now();
  const handle = createSqliteHandle({
    path: resolve(file),
    lasting,
    lock: createSqliteLock({ monotonic, sleep, random }),
    monotonic,
    now,
    prepare: (database: DatabaseSync) => ({
      scopes: prepareScopes(database),
      trail: createSqliteTrail(database, lasting ? undefined : MAX_PASSING_ENTRIES),
      tokens: prepareTokens(database),
      fleet: prepareFleet(database),
      messages: prepareMessages(database),
    }),
    reopened({ scopes }) {
      // A log with content shows the other processes that it has begun.
      scopes.probe();
      return takeOver(scopes);
    },
  });
  const { read, write } = handle;

  const first = handle.statements().scopes;
  /** Version of the newest change that this handle has read or announced. */
  let seen = first.version();
  let history = first.history();
  /** Version of this handle's own last change, which is already applied. */
  let written = 0;
  /** The writer of the newest known change; `undefined` when unknown. */
  let newestBy: string | undefined = writerOf(first, seen);
  /** Unknown before the first poll. */
  let dataVersion: unknown;
  let timer: NodeJS.Timeout | undefined;
  /** Whether the last check was blocked by another program's lock. */
  let locked = false;
  let closed = false;

  const fleet = createSqliteFleet({ handle, history: () => history, seen: () => seen });
  const messages = createSqliteMessages({ handle, writer, listening: follow });

  /** Polls while anybody listens. */
  function follow(): void {
    const wanted = !closed && (subscribers.size > 0 || messages.isListening);
    if (wanted) timer ??= setInterval(poll, POLL_MS).unref();
    else {
      clearInterval(timer);
      timer = undefined;
    }
  }

  /**
   * Called after the file was reopened. A lower version, or one by another writer, means an older state, which begins a
   * new history. The first process to find it chooses the id.
   */
  function takeOver(scopes: ReturnType<typeof prepareScopes>): boolean {
    const known = Math.max(seen, written);
    const version = scopes.version();
    dataVersion = undefined;
    const by = writerOf(scopes, known);
    const isKnown = version >= known && (by === newestBy || (by === undefined && version > known));
    if (isKnown && scopes.history() === history) return true;
    scopes.beginHistory.run(randomUUID(), history);
    history = scopes.history();
    seen = version;
    newestBy = writerOf(scopes, version);
    written = 0;
    fleet.moved();
    announceReset({ reason: version === 0 ? 'empty' : 'rollback', history });
    return false;
  }

  function announceReset(reset: StoreReset): void {
    diagnostics.warn(`rdcp: the SQLite file has lost changes that were acknowledged (${reset.reason})`);
    for (const { listener } of resets) {
      // The operation that found the reset continues first.
      setImmediate(() => {
        try {
          listener(reset);
        } catch (error) {
          diagnostics.error('rdcp: a listener to resets of the state store threw', error);
        }
      });
    }
  }

  /** Fails because of another program's lock only when the check before met one too. */
  async function assertWritable(): Promise<void> {
    try {
      await write(({ scopes }) => scopes.probe(), { sync: false, urgency: 'probe' });
      locked = false;
    } catch (error) {
      if (!(error instanceof Error) || !isBusy(error.cause) || locked) throw error;
      locked = true;
    }
  }

  async function commitAll(commits: readonly Commit[]): Promise<readonly CommitResult[]> {
    const syncLater = commits.every((commit) => commit.syncLater === true);
    const urgency = commits.every((commit) => commit.background === true) ? 'background' : 'awaited';
    const results = await write((statements) => applyAll(statements, commits), { sync: !syncLater, urgency });
    const moved = results.findLast((result) => result.outcome === 'committed' && result.position !== undefined);
    if (moved?.outcome === 'committed' && moved.position?.history === history) {
      written = Math.max(written, moved.position.revision);
      newestBy = writer;
      // By then the caller has applied its commit.
      if (timer !== undefined) setImmediate(poll).unref();
    }
    if (results.at(-1)?.outcome === 'replayed') await handle.sync();
    if (!syncLater || results[0]?.outcome !== 'committed') return results;
    const durable = handle.sync();
    // Background writers do not wait for the result.
    durable.catch(() => undefined);
    return results.map((result) => (result.outcome === 'committed' ? { ...result, durable } : result));
  }

  /** Stops at the first commit that is rejected; that one has written nothing. */
  function applyAll(
    statements: ReturnType<typeof handle.statements>,
    commits: readonly Commit[],
  ): readonly CommitResult[] {
    const results: CommitResult[] = [];
    if (commits[0]?.replay !== undefined) statements.scopes.dropReplays.run(commits[0].now);
    for (const commit of commits) {
      const result = applyCommit(statements, commit, { writer, history });
      results.push(result);
      if (result.outcome !== 'committed') break;
    }
    return results;
  }

  function poll(): void {
    try {
      const { scopes } = handle.statements();
      const current = scopes.dataVersion.get()?.data_version;
      if (current === dataVersion && written <= seen) return;
      const newest = scopes.version();
      const changes = scopes.readChanges.all(seen, writer);
      const moved = newest !== seen;
      dataVersion = current;
      seen = newest;
      newestBy = writerOf(scopes, newest);
      for (const row of changes) subscribers.announce(String(row.key), scopeState(row));
      if (moved) fleet.moved();
      messages.look();
    } catch {
      // The next poll retries: unannounced changes are still newer than `seen`. check() reports the fault.
    }
  }

  return {
    name: 'sqlite',
    shared: true,
    tokens: createSqliteTokens(handle),
    fleet,
    messages,

    async load() {
      // With subscribers, changes made meanwhile still have to be announced.
      if (subscribers.size === 0) {
        seen = await read(({ scopes }) => {
          const version = scopes.version();
          newestBy = writerOf(scopes, version);
          return version;
        });
      }
      const found = new Map<ScopeKey, ScopeState>();
      for (let last = ''; ; ) {
        const rows = await read(({ scopes }) => scopes.readSome.all(last));
        for (const row of rows) found.set(String(row.key), scopeState(row));
        if (rows.length < LOADED_AT_ONCE) return found;
        last = String(rows.at(-1)?.key);
        await new Promise(setImmediate);
      }
    },

    commit: async (commit) => (await commitAll([commit]))[0] as CommitResult,
    commitAll,

    async findReplay(key, at) {
      const replay = await read(({ scopes }) => replayOf(scopes, key, at));
      // Another process, or this one, may just have written it without a sync.
      if (replay !== undefined) await handle.sync();
      return replay;
    },

    subscribe(listener) {
      if (closed) return () => {};
      const remove = subscribers.add(listener, follow);
      follow();
      return remove;
    },

    onReset(listener) {
      const entry = { listener };
      resets.add(entry);
      return () => resets.delete(entry);
    },

    queryAudit: async (query) => handle.statements().trail.page(query),
    newestAudit: () => read(({ trail }) => trail.newest()),
    pruneAudit: async (at, starting = async () => true, mayDrop = () => true) =>
      handle.statements().trail.prune(at, starting, mayDrop),

    async check() {
      await read(({ scopes }) => scopes.version());
      // Saving the log counts as a write.
      if (!handle.saveLog()) await assertWritable();
    },

    async close() {
      if (closed) return;
      closed = true;
      clearInterval(timer);
      subscribers.clear();
      resets.clear();
      fleet.close();
      messages.close();
      await handle.close();
    },
  };
}

function writerOf(scopes: ReturnType<typeof prepareScopes>, version: number): string | undefined {
  const row = scopes.writerOf.get(version);
  return row && String(row.writer);
}
