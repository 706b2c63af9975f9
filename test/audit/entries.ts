import type { ChainHead } from '../../src/audit/chain.ts';
import { NO_PREVIOUS_HASH, seal, unsealed } from '../../src/audit/chain.ts';
import type { AuditDraft } from '../../src/audit/types.ts';
import type { AuditEntry } from '../../src/protocol/audit-messages.ts';

export const NOW = Date.UTC(2026, 0, 1);

export const DRAFT: AuditDraft = {
  action: 'enable',
  categories: ['DATABASE'],
  changes: [
    {
      category: 'DATABASE',
      previousState: false,
      newState: true,
      temporary: false,
      effectiveAt: '2026-01-01T00:00:00.000Z',
    },
  ],
  outcome: 'success',
  identity: { method: 'api-key', userId: 'ops', clientId: 'console', scopes: ['control'], sessionId: 's-1' },
  tenant: { id: 'acme', name: 'Acme Ltd' },
  requestId: 'r-1',
  reason: 'slow “queries” \ud83d\ude00',
  source: { address: '192.0.2.7', userAgent: 'curl/8' },
};

export const chainOf = (instanceId: string) => ({ securityLevel: 'standard' as const, instanceId, retentionDays: 90 });

/** A chain of one process that begins at a hash; `differing` tells what an entry has other than {@link DRAFT}. */
export function chain(
  instanceId: string,
  length: number,
  previousHash = NO_PREVIOUS_HASH,
  differing: (sequence: number) => Partial<AuditDraft> = () => ({}),
): AuditEntry[] {
  const entries: AuditEntry[] = [];
  let head: ChainHead = { sequence: 0, hash: previousHash };
  for (let index = 0; index < length; index++) {
    const id = `${instanceId}-${index + 1}`;
    const draft = { ...DRAFT, ...differing(index + 1) };
    const entry = seal(unsealed(draft, chainOf(instanceId), { id, now: NOW + index }), head);
    head = entry.compliance;
    entries.push(entry);
  }
  return entries;
}
