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
import { applyCommit, LOADED_AT_ONCE, prepareScopes, replayOf, scopeState } from './sqlite-scopes.ts';
import { createSqliteTokens, prepareTokens } from './sqlite-tokens.ts';
import type { Commit, CommitResult, ScopeKey, ScopeState, StateStore, StoreReset } from './state-store.ts';
import { Subscribers } from './subscribers.ts';

/** How often the file is asked whether another process wrote it, and looked at, in milliseconds. */
const POLL_MS = 100;

/** Audit entries of a file that is removed anyway. */
const MAX_PASSING_ENTRIES = 10_000;

export interface SqliteStoreOptions {
  /** False for a file that goes when its processes end: nothing is synced to disk, and the oldest audit entries are dropped. @default true */
  readonly lasting?: boolean;
  /** From 0 to 1, for the pauses of writes that wait for another process. @default Math.random */
  readonly random?: () => number;
}

/**
 * State in one SQLite file, shared by the processes of one host. A commit is one transaction, synced to disk before it is
 * acknowledged. The file must be on a local disk: the write-ahead log needs shared memory.
 *
 * SQLite works in the calling thread: a commit takes a fraction of a millisecond. Where another process holds the lock it is
 * tried again, for half a second, and the event loop goes on meanwhile. A commit that says `syncLater` does not wait for
 * the disk there: it is synced in another thread, together with those that came meanwhile.
 *
 * Nothing is acknowledged in a file, or a log, that nobody will find again: one that was taken away, replaced or truncated
 * rejects until it is whole, and what is there then is in force. `onReset` tells where that is older than what was known.
 * @param file the path; made with mode 0600 where there is none
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
    }),
    reopened({ scopes }) {
      // A log with something in it tells the other processes that it has begun.
      scopes.probe();
      return takeOver(scopes);
    },
  });
  const { read, write } = handle;

  const first = handle.statements().scopes;
  /** Version of the newest change that this handle has read or announced. */
  let seen = first.version();
  let history = first.history();
  /** Version of this handle's own last change, which its owner has applied by itself. */
  let written = 0;
  /** Who made the newest change that is known; `undefined` where that was not looked at. */
  let newestBy: string | undefined = writerOf(first, seen);
  /** Unknown before the first poll. */
  let dataVersion: unknown;
  let timer: NodeJS.Timeout | undefined;
  /** Whether the last check met the lock of another program. */
  let locked = false;
  let closed = false;

  const fleet = createSqliteFleet({ handle, history: () => history, seen: () => seen });

  /**
   * The file was opened again. A version that is lower, or was made by somebody else, tells of an older state, which
   * begins a history of its own: the first process to find it names it for all.
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
      // The one who found it goes on first.
      setImmediate(() => {
        try {
          listener(reset);
        } catch (error) {
          diagnostics.error('rdcp: a listener to resets of the state store threw', error);
        }
      });
    }
  }

  /** A lock of another program is a refusal only when the check before met one too. */
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
      // By then whoever asked for the commit has taken it over.
      if (timer !== undefined) setImmediate(poll).unref();
    }
    if (results.at(-1)?.outcome === 'replayed') await handle.sync();
    if (!syncLater || results[0]?.outcome !== 'committed') return results;
    const durable = handle.sync();
    // Those who write in the background wait for nothing.
    durable.catch(() => undefined);
    return results.map((result) => (result.outcome === 'committed' ? { ...result, durable } : result));
  }

  /** Ends at the first that is not committed, which has written nothing. */
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
    } catch {
      // The next poll asks again: what was not announced is still newer than `seen`. check() tells of the fault.
    }
  }

  return {
    name: 'sqlite',
    shared: true,
    tokens: createSqliteTokens(handle),
    fleet,

    async load() {
      // With subscribers, what changed meanwhile still has to be announced.
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
      // It may have been kept a moment ago, here or in another process.
      if (replay !== undefined) await handle.sync();
      return replay;
    },

    subscribe(listener) {
      if (closed) return () => {};
      timer ??= setInterval(poll, POLL_MS).unref();
      return subscribers.add(listener, () => {
        clearInterval(timer);
        timer = undefined;
      });
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
      // That is to write as well.
      if (!handle.saveLog()) await assertWritable();
    },

    async close() {
      if (closed) return;
      closed = true;
      clearInterval(timer);
      subscribers.clear();
      resets.clear();
      fleet.close();
      await handle.close();
    },
  };
}

function writerOf(scopes: ReturnType<typeof prepareScopes>, version: number): string | undefined {
  const row = scopes.writerOf.get(version);
  return row && String(row.writer);
}
