import type { AuditDraft, AuditRecorder, Persist } from '../control/types.ts';
import type { AuditPage, AuditQuery, CommitResult } from '../store/state-store.ts';

/** The audit trail of this process: one hash chain, kept by the store, echoed as OTel log records. */
export interface AuditTrail extends AuditRecorder {
  /** {@link AuditRecorder.recordAll} for one entry. */
  record(draft: AuditDraft, persist: Persist): Promise<CommitResult>;
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
