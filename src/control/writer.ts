import type { AuditDraft, AuditRecorder, Recording, Sealed } from '../audit/types.ts';
import type { Clock } from '../clock.ts';
import { isRdcpError, RdcpError } from '../errors.ts';
import type { AuditEntry } from '../protocol/messages.ts';
import type {
  Commit,
  CommitResult,
  ReplayRecord,
  ScopeKey,
  ScopeState,
  Settings,
  StateStore,
} from '../store/state-store.ts';

/** One atomic step: new settings of a scope, where there are any, the entry that tells of them, the answer kept for repeats. */
export interface Write extends Recording {
  readonly state?: { readonly scope: ScopeKey; readonly expectedRevision: number; readonly settings: Settings };
  readonly replay?: ReplayRecord | undefined;
}

export interface WriterOptions {
  readonly store: Pick<StateStore, 'commit' | 'commitAll'>;
  readonly audit: AuditRecorder;
  readonly clock: Pick<Clock, 'now'>;
  /** Makes settings that are kept take less memory. */
  readonly pack: (key: ScopeKey, settings: Settings) => Settings;
  /** Called once a scope's new state is kept, before the OTel record is emitted. */
  readonly committed: (key: ScopeKey, state: ScopeState, expectedRevision: number, draft: AuditDraft) => void;
  /** Called with what the store holds instead. */
  readonly conflicted: (key: ScopeKey, current: ScopeState) => void;
  /** Called before a write; what it returns is called behind it. */
  readonly writing: () => () => void;
  /** Called when the store did not take a write. */
  readonly failed: () => void;
}

export type Writer = ReturnType<typeof createWriter>;

/** Writes state through the audit trail. */
export function createWriter({ store, audit, clock, pack, committed, conflicted, writing, failed }: WriterOptions) {
  function commitOf({ state, replay }: Write, audit: AuditEntry, now: number): Commit {
    return {
      ...(state && { state: { ...state, settings: pack(state.scope, state.settings) } }),
      audit,
      ...(replay && { replay }),
      now,
      syncLater: true,
    };
  }

  /** Without a word from the store of how it does many together, there is one. */
  async function commitAll(commits: readonly Commit[]): Promise<readonly CommitResult[]> {
    return store.commitAll?.(commits) ?? [await store.commit(commits[0] as Commit)];
  }

  function takeOver({ state }: Commit, result: CommitResult, now: number, draft: AuditDraft): void {
    if (state === undefined) return;
    const { scope, expectedRevision, settings } = state;
    if (result.outcome === 'conflict') conflicted(scope, result.current);
    if (result.outcome !== 'committed') return;
    const revision = result.revision ?? expectedRevision + 1;
    committed(scope, { revision, settings, changedAt: now }, expectedRevision, draft);
  }

  async function seal(writes: readonly Write[]): Promise<Sealed> {
    try {
      return await audit.seal(writes);
    } catch (error) {
      if (isRdcpError(error)) throw error;
      const message = 'The change could not be audited, so it was not applied';
      throw new RdcpError('RDCP_AUDIT_WRITE_FAILED', message, { cause: error });
    }
  }

  /**
   * Writes in order, up to the first that the store does not take, whose result is the last one then.
   * @throws {RdcpError} `RDCP_UNAVAILABLE`, or what the store says itself; nothing is changed then
   */
  async function writeAll(writes: readonly Write[]): Promise<readonly CommitResult[]> {
    const now = clock.now();
    const written = writing();
    try {
      const sealed = await seal(writes);
      return await commitSealed(writes, sealed, now);
    } catch (error) {
      failed();
      throw error;
    } finally {
      written();
    }
  }

  /** The chain is held until then: whatever happens, it is told of the outcome. */
  async function commitSealed(
    writes: readonly Write[],
    { entries, done, failed }: Sealed,
    now: number,
  ): Promise<readonly CommitResult[]> {
    let commits: readonly Commit[];
    let results: readonly CommitResult[];
    try {
      commits = writes.map((write, index) => commitOf(write, entries[index] as AuditEntry, now));
      results = await commitAll(commits);
    } catch (error) {
      failed(error);
      throw storeFailure(error);
    }
    try {
      results.forEach((result, index) => {
        takeOver(commits[index] as Commit, result, now, (writes[index] as Write).draft);
      });
    } finally {
      done(results);
    }
    return results;
  }

  async function write(one: Write): Promise<CommitResult> {
    const [result] = await writeAll([one]);
    return result as CommitResult;
  }

  return {
    writeAll,
    write,

    /** Whether an entry that changes no state could be written. */
    written: ({ draft }: Pick<Write, 'draft'>): Promise<boolean> =>
      write({ draft }).then(
        () => true,
        () => false,
      ),

    /** Keeps what could not be written until the store is back. False when no more can be kept. */
    writeLater: ({ draft, replay }: Omit<Write, 'state'>, kept: () => void = () => undefined): boolean =>
      audit.defer({ draft, replay, kept }),
  };
}

/** Seconds after which a client may try again. */
const RETRY_AFTER = '5';

export function unavailable(message: string, cause?: unknown): RdcpError {
  return new RdcpError('RDCP_UNAVAILABLE', message, { headers: { 'Retry-After': RETRY_AFTER }, cause });
}

/** What a rejected call of the store means to the client. A store may say it better itself. */
export function storeFailure(error: unknown): RdcpError {
  return isRdcpError(error) ? error : unavailable('The store cannot be reached, so nothing was changed', error);
}
