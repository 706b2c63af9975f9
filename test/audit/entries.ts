import assert from 'node:assert/strict';
import type { LogRecord } from '../../src/otel/telemetry.ts';
import { type ChainHead, hashOf, NO_PREVIOUS_HASH, seal, unsealed } from '../../src/trail/chain.ts';
import { type AuditTrailOptions, createAuditTrail } from '../../src/trail/trail.ts';
import type { AuditDraft } from '../../src/trail/types.ts';
import { type ChainFault, createVerifier } from '../../src/trail/verify.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import { virtualTime } from '../support/virtual-time.ts';

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

interface TrailSetup extends Pick<AuditTrailOptions, 'store' | 'failed'> {
  readonly report?: AuditTrailOptions['report'];
  readonly instanceId?: string;
  readonly time?: ReturnType<typeof virtualTime>;
  readonly emit?: (record: LogRecord) => void;
}

/** A trail of a process. What it reports fails the test. */
export function openTrail({ instanceId = 'i-1', time = virtualTime(), emit = () => {}, ...options }: TrailSetup) {
  let ids = 0;
  return createAuditTrail({
    telemetry: { logger: { emit } },
    clock: time.clock,
    schedule: time.schedule,
    chain: chainOf(instanceId),
    randomUUID: () => `${instanceId}-${++ids}`,
    report: (error) => assert.fail(String(error)),
    ...options,
  });
}

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

/** The fault in the oldest entry of a whole trail, given in the order of writing. */
export function verify(entries: Iterable<AuditEntry>): ChainFault | undefined {
  const verifier = createVerifier();
  for (const entry of [...entries].reverse()) verifier.see(entry);
  return verifier.finish().first;
}

/** Each entry in a few words: its action, an outcome other than success, its reason. */
export const inWords = (entries: readonly AuditEntry[]): string[] =>
  entries.map(({ action, outcome, reason }) =>
    [outcome === 'success' ? action : `${action} ${outcome}`, ...(reason ? [reason] : [])].join(': '),
  );

/** A part of a trail, in the order of writing: each entry is intact and follows the one before it of its process. */
export function assertLinked(entries: Iterable<AuditEntry>): void {
  const last = new Map<string, ChainHead>();
  for (const entry of entries) {
    const { instanceId, sequence, previousHash, hash } = entry.compliance;
    const before = last.get(instanceId);
    assert.equal(hashOf(entry), hash);
    if (before !== undefined) assert.deepEqual([sequence, previousHash], [before.sequence + 1, before.hash]);
    last.set(instanceId, entry.compliance);
  }
}
