import type { AuditPage, AuditQuery, CommitResult, ReplayRecord } from '../store/state-store.ts';
import type { AuditEntry } from '../wire/audit-messages.ts';

/** The content of an audit entry before the trail seals it with id, time, sequence and hash. */
export type AuditDraft = Omit<AuditEntry, 'id' | 'timestamp' | 'compliance'>;

/** A recorded entry. One that was recorded while the store was unreachable has no place in the chain yet. */
export type RecordedEntry = Omit<AuditEntry, 'compliance'> & { readonly compliance: Partial<AuditEntry['compliance']> };

export interface Deferred {
  readonly draft: AuditDraft;
  /** Written in the same step, unless it has expired or the key is taken by then. Of a claim that is taken nothing is written. */
  readonly replay?: ReplayRecord | undefined;
  readonly kept?: () => void;
}

export interface AuditRecorder {
  /**
   * Seals a draft as the next entry of this process's chain, and holds the chain until the caller has committed the entry.
   * If it was committed, the chain advances and the OTel record is emitted.
   * @param commit writes the entry; a rejection means that it was not written, or that this is not known
   * @throws {RdcpError} `RDCP_UNAVAILABLE` when earlier entries cannot be written first; otherwise as `commit`
   */
  append(draft: AuditDraft, commit: (entry: AuditEntry) => Promise<CommitResult>): Promise<CommitResult>;
  /**
   * Records what happened although the store is unreachable: emits the OTel record at once and writes the entry when
   * the store is back, in this order and before any later entry. A claim is emitted when it is written. A draft whose write by
   * {@link AuditRecorder.append} had no answer is written once. Returns false, and emits nothing, when too many are deferred.
   */
  defer(deferred: Deferred): boolean;
}

/** The audit trail of this process: one hash chain, kept by the store and exported as OTel log records. */
export interface AuditTrail extends AuditRecorder {
  /** Writes one entry that changes no state. Rejects when it was not written, or may not have been. */
  record(draft: AuditDraft, replay?: ReplayRecord): Promise<CommitResult>;
  /** Writes an entry in the background; defers it while the store is away. */
  note(draft: AuditDraft): void;
  /**
   * Records a refused request. Returns at once; the entry is written in the background. Unauthenticated requests become
   * one aggregate entry per address and minute. A known client's first few refusals get an entry each; later ones
   * within a minute become one per path and code.
   */
  refused(draft: AuditDraft, path?: string): void;
  query(query: AuditQuery): Promise<AuditPage>;
  /** Whether the last write of the trail succeeded, for the health check; true before the first. */
  readonly healthy: boolean;
  close(): Promise<void>;
}
