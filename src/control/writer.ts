import type { Clock } from '../clock.ts';
import { isRdcpError, RdcpError } from '../errors.ts';
import type { CommitResult, ReplayRecord, ScopeKey, ScopeState, Settings, StateStore } from '../store/state-store.ts';
import type { AuditDraft, AuditRecorder } from './types.ts';

/** One atomic step: new settings of a scope, where there are any, the entry that tells of them, the answer kept for repeats. */
export interface Write {
  readonly draft: AuditDraft;
  readonly state?: { readonly key: ScopeKey; readonly expectedRevision: number; readonly settings: Settings };
  readonly replay?: ReplayRecord | undefined;
}

export interface WriterOptions {
  readonly store: Pick<StateStore, 'commit'>;
  readonly audit: AuditRecorder;
  readonly clock: Pick<Clock, 'now'>;
  /** Makes settings that are kept take less memory. */
  readonly pack: (key: ScopeKey, settings: Settings) => Settings;
  /** Called once a scope's new state is kept, before the OTel record is emitted. */
  readonly committed: (key: ScopeKey, state: ScopeState, expectedRevision: number) => void;
  /** Called with what the store holds instead. */
  readonly conflicted: (key: ScopeKey, current: ScopeState) => void;
  /** Called when the store did not take a write. */
  readonly failed: () => void;
}

export type Writer = ReturnType<typeof createWriter>;

/** Writes state through the audit trail. */
export function createWriter({ store, audit, clock, pack, committed, conflicted, failed }: WriterOptions) {
  /** @throws {RdcpError} `RDCP_UNAVAILABLE`, or what the store says itself; nothing is changed then */
  async function write({ draft, state, replay }: Write): Promise<CommitResult> {
    const now = clock.now();
    const settings = state && pack(state.key, state.settings);
    let asked = false;
    try {
      return await audit.record(draft, async (entry) => {
        asked = true;
        const result = await store.commit({
          ...(state && settings && { state: { scope: state.key, expectedRevision: state.expectedRevision, settings } }),
          audit: entry,
          ...(replay && { replay }),
          now,
          syncLater: true,
        });
        if (state === undefined || settings === undefined) return result;
        const { key, expectedRevision } = state;
        if (result.outcome === 'conflict') conflicted(key, result.current);
        if (result.outcome === 'committed') {
          const revision = result.revision ?? expectedRevision + 1;
          committed(key, { revision, settings, changedAt: now }, expectedRevision);
        }
        return result;
      });
    } catch (error) {
      failed();
      if (asked || isRdcpError(error)) throw storeFailure(error);
      const message = 'The change could not be audited, so it was not applied';
      throw new RdcpError('RDCP_AUDIT_WRITE_FAILED', message, { cause: error });
    }
  }

  return {
    write,

    /** Whether an entry that changes no state could be written. */
    written: ({ draft }: Pick<Write, 'draft'>): Promise<boolean> =>
      write({ draft }).then(
        () => true,
        () => false,
      ),

    /** Keeps what could not be written until the store is back. False when no more can be kept. */
    writeLater({ draft, replay }: Omit<Write, 'state'>, written: () => void = () => undefined): boolean {
      return audit.defer(draft, async (entry) => {
        const now = clock.now();
        const kept = replay !== undefined && replay.expiresAt > now ? { replay } : {};
        let result = await store.commit({ audit: entry, ...kept, now });
        // Another process answered that request id meanwhile. What happened here is told all the same.
        if (result.outcome === 'replayed') result = await store.commit({ audit: entry, now });
        if (result.outcome === 'committed') written();
        return result;
      });
    },
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
