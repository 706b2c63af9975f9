import type { AuditDraft } from './types.ts';

/**
 * What the trail says when a source of credentials fails, and when it is back.
 * @param problem absent when it is back
 * @param message both as the operator reads it
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
