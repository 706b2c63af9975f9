import type { AuditDraft } from './types.ts';

/**
 * The audit entry for a credential source that fails or recovers.
 * @param problem absent on recovery
 * @param message the same message as in the log
 */
export function credentialsDraft(problem: string | undefined, message: string): AuditDraft {
  return {
    action: 'credentials.reload',
    categories: [],
    changes: [],
    outcome: problem === undefined ? 'success' : 'failed',
    identity: {},
    reason: message,
  };
}
