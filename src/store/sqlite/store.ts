import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { unwritten } from '../../wire/errors.ts';
import { timers } from '../../wire/time/timers.ts';
import { Listeners } from '../listeners.ts';
import { allScopes, scopesOf } from '../sql-rows.ts';
import type { Commit, CommitResult, ScopeKey, ScopeState, StateStore } from '../state-store.ts';
import { StoredValues } from '../stored-values.ts';
import { createSqliteTrail } from './audit.ts';
import { createSqliteHandle, IN_PASSING_MS } from './handle.ts';
import { isBusy } from './lock.ts';
import { createSqliteMessages, prepareMessages } from './messages.ts';
import { createSqliteRecords, prepareRecords } from './records.ts';
import { applyCommit, findReplay, prepareScopes } from './scopes.ts';

/** Poll interval for writes by other processes, in milliseconds. */
const POLL_MS = 100;

/** Audit entries kept in a temporary file. */
const MAX_PASSING_ENTRIES = 10_000;

export interface SqliteStoreOptions {
  /** False for a temporary file: nothing is synced to disk, and the oldest audit entries are dropped. @default true */
  readonly lasting?: boolean;
}

/**
 * State in one SQLite file, shared by the processes of one host. A commit is one transaction, synced to disk before it
 * is acknowledged. The file must be on a local disk, because the write-ahead log needs shared memory.
 *
 * SQLite runs in the calling thread: a commit takes a fraction of a millisecond. The disk's sync runs in another thread, and one
 * serves all commits before it. While another process holds the lock, a write is retried for half a second, and the event loop
 * runs meanwhile.
 *
 * Nothing is acknowledged in a file or log that is not at its path any more: once the file was removed or replaced,
 * everything rejects until the process is started again.
 * @param file the path; created with mode 0600 if missing
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` when the file cannot be used
 */
export function createSqliteStore(file: string, { lasting = true }: SqliteStoreOptions = {}): StateStore {
  const writer = randomUUID();
  const subscribers = new Listeners<[ScopeKey, ScopeState]>('changes');
  const stored = new StoredValues();
  const handle = createSqliteHandle({
    path: resolve(file),
    lasting,
    prepare: (database: DatabaseSync) => ({
      scopes: prepareScopes(database),
      trail: createSqliteTrail(database, lasting ? undefined : MAX_PASSING_ENTRIES),
      records: prepareRecords(database),
      messages: prepareMessages(database),
    }),
  });
  const { read, write } = handle;

  const history = handle.statements().scopes.history();
  /** Version of the newest change that this handle has read or announced. */
  let seen = handle.statements().scopes.version();
  /** Version of this handle's own last change, which is already applied. */
  let written = 0;
  /** Unknown before the first poll. */
  let dataVersion: unknown;
  let timer: NodeJS.Timeout | undefined;
  /** Whether the last check was blocked by another program's lock. */
  let locked = false;
  let closed = false;

  const moved = new Listeners<[]>('positions');
  const messages = createSqliteMessages(handle, writer, follow);

  /** Polls as long as there are listeners. */
  function follow(): void {
    const wanted = !closed && (subscribers.size > 0 || messages.isListening);
    if (wanted) timer ??= timers.setInterval(poll, POLL_MS).unref();
    else {
      timers.clearInterval(timer);
      timer = undefined;
    }
  }

  /** Fails because of another program's lock only when the check before met one too. */
  async function assertWritable(): Promise<void> {
    try {
      await write(({ scopes }) => scopes.probe(), IN_PASSING_MS);
      locked = false;
    } catch (error) {
      if (!(error instanceof Error) || !isBusy(error.cause) || locked) throw error;
      locked = true;
    }
  }

  async function commit(wanted: Commit): Promise<CommitResult> {
    const result = await write(
      (statements) => {
        if (wanted.replay !== undefined) statements.scopes.dropReplays.run(wanted.now);
        return applyCommit(statements, wanted, { writer, history, stored });
      },
      wanted.background === true ? IN_PASSING_MS : undefined,
    ).catch((error: unknown) => {
      // SQLite has rolled it back.
      throw unwritten(error);
    });
    if (result.outcome === 'committed') written = Math.max(written, result.position?.revision ?? 0);
    // The caller applies its commit first.
    if (written > seen && timer !== undefined) timers.setImmediate(poll).unref();
    if (wanted.background !== true && wanted.syncLater !== true) await handle.sync();
    return result;
  }

  function poll(): void {
    try {
      const { scopes } = handle.statements();
      const current = scopes.dataVersion.get()?.data_version;
      if (current === dataVersion && written <= seen) return;
      const newest = scopes.version();
      const changes = scopes.readChanges.all(seen, writer);
      const hasMoved = newest !== seen;
      dataVersion = current;
      seen = newest;
      for (const [scope, state] of scopesOf(stored, changes)) subscribers.call(scope, state);
      if (hasMoved) moved.call();
      messages.poll();
    } catch {
      // The next poll retries: unannounced changes are still newer than `seen`. check() reports the fault.
    }
  }

  return {
    name: 'sqlite',
    shared: true,
    isOnOneHost: true,
    records: createSqliteRecords(handle, stored),
    positions: {
      position: () => ({ history, revision: seen }),
      newest: () => read(({ scopes }) => ({ history, revision: scopes.version() })),
      onMoved: (listener) => moved.add(listener),
    },
    messages,

    async load() {
      // With subscribers, changes made meanwhile still have to be announced.
      if (subscribers.size === 0) seen = await read(({ scopes }) => scopes.version());
      return allScopes(stored, async (last) => {
        // Some milliseconds of the event loop. The next poll finds what changes meanwhile.
        if (last !== '') await new Promise(timers.setImmediate);
        return read(({ scopes }) => scopes.readSome.all(last));
      });
    },

    commit,
    sync: handle.sync,

    findReplay: (key, at) => read(({ scopes }) => findReplay(stored, scopes, key, at)),

    subscribe(listener) {
      if (closed) return () => {};
      const remove = subscribers.add(listener);
      follow();
      return () => {
        remove();
        follow();
      };
    },

    onMalformed: (listener) => stored.malformed.add(listener),
    queryAudit: async (query) => handle.statements().trail.page(query),
    newestAudit: () => read(({ trail }) => trail.newest()),
    pruneAudit: async (...args) => handle.statements().trail.prune(...args),

    async check() {
      await read(({ scopes }) => scopes.version());
      await assertWritable();
    },

    async close() {
      if (closed) return;
      closed = true;
      timers.clearInterval(timer);
      subscribers.clear();
      moved.clear();
      stored.malformed.clear();
      messages.close();
      await handle.close();
    },
  };
}
