import type { AuditEntry } from '../protocol/messages.ts';
import type { AuditPage, AuditQuery, CommitResult, ReplayRecord } from '../store/state-store.ts';

/** What an audit entry says before the trail seals it with id, time, sequence and hash. */
export type AuditDraft = Pick<AuditEntry, 'action' | 'categories' | 'changes' | 'outcome' | 'identity'> &
  Partial<
    Pick<AuditEntry, 'tenant' | 'requestId' | 'reason' | 'otelrdcp_budget' | 'source' | 'error' | 'count' | 'dropped'>
  >;

/** A draft, and who emits its OTel record. */
export interface Recording {
  readonly draft: AuditDraft;
  /**
   * Called once the entry is kept, with what emits the record: in the asynchronous context whose trace it belongs to.
   * @default emits it at once
   */
  readonly whenKept?: (emit: () => void) => void;
}

/** Entries that hold the chain until the store has answered: one of the two functions must be called. */
export interface Sealed {
  readonly entries: readonly AuditEntry[];
  /**
   * The store wrote the entries, up to the first whose result is not `committed`: for those the chain advances and the OTel
   * records are due.
   */
  done(results: readonly CommitResult[]): void;
  /** Nothing was written, or it is not known whether all was. */
  failed(error: unknown): void;
}

/** What the trail keeps of something that happened while the store could not be reached. */
export interface Deferred {
  readonly draft: AuditDraft;
  /** Written in the same step, unless its time is over or the key is taken by then. */
  readonly replay?: ReplayRecord | undefined;
  /** Called once the store has both. */
  readonly kept?: () => void;
}

/** The trail as the control plane needs it. */
export interface AuditRecorder {
  /**
   * Seals the drafts as the next entries of this process's chain, and holds the chain.
   * @throws {RdcpError} `RDCP_UNAVAILABLE` when what has to come before cannot be written; nothing is held then
   */
  seal(recordings: readonly Recording[]): Promise<Sealed>;
  /**
   * For what had to happen although the store cannot be reached: emits the OTel record at once and keeps the draft, to be
   * written when the store is back, in this order and before any later entry. False when no more can be kept; nothing was
   * emitted then.
   */
  defer(deferred: Deferred): boolean;
}

/** The audit trail of this process: one hash chain, kept by the store, echoed as OTel log records. */
export interface AuditTrail extends AuditRecorder {
  /** Writes one entry that changes no state. Rejects when that did not happen, or may not have. */
  record(draft: AuditDraft, replay?: ReplayRecord): Promise<CommitResult>;
  /** Writes an entry in the background, when the store is back if need be. */
  note(draft: AuditDraft): void;
  /**
   * Notes a refused request. Returns at once: the entry is written in the background. Refusals of requests without a
   * valid credential become one aggregate entry per address and minute. Of a known client the first few are an entry each;
   * what follows within a minute is one for each path and code.
   */
  refused(draft: AuditDraft, path?: string): void;
  query(query: AuditQuery): Promise<AuditPage>;
  /** Whether the last write of the trail succeeded, for the health check; true before the first. */
  readonly healthy: boolean;
  /** Writes what is still to be written. */
  close(): Promise<void>;
}
