import type {
  AuditQuery,
  Commit,
  CommitResult,
  ReplayRecord,
  Setting,
  StateStore,
} from '../../../src/store/state-store.ts';
import type { AuditEntry } from '../../../src/wire/audit-messages.ts';
import { timestamp } from '../../../src/wire/time.ts';

/** The wall time at which these tests play. */
export const NOW = Date.parse('2026-03-01T12:00:00.000Z');
export const DAY = 86_400_000;

let sequence = 0;

/** An audit entry that is complete; what a test is about is given. */
export function auditEntry(fields: Partial<AuditEntry> & { readonly retainUntil?: number } = {}): AuditEntry {
  const { retainUntil = NOW + 90 * DAY, ...given } = fields;
  sequence += 1;
  return {
    id: `entry-${sequence}`,
    timestamp: timestamp(NOW),
    action: 'enable',
    categories: ['DATABASE'],
    changes: [
      { category: 'DATABASE', previousState: false, newState: true, temporary: false, effectiveAt: timestamp(NOW) },
    ],
    outcome: 'success',
    identity: { method: 'api-key', userId: 'ada', clientId: 'console', scopes: ['control'] },
    requestId: `request-${sequence}`,
    reason: 'why “not”? \u2028 \\ "quoted"',
    source: { address: '127.0.0.1', userAgent: 'curl/8' },
    compliance: {
      securityLevel: 'basic',
      instanceId: 'instance-1',
      sequence,
      previousHash: '0'.repeat(64),
      hash: sequence.toString(16).padStart(64, '0'),
      retainUntil: timestamp(retainUntil),
    },
    ...given,
  };
}

export function replayRecord(fields: Partial<ReplayRecord> = {}): ReplayRecord {
  return {
    key: 'console request-1',
    fingerprint: 'f'.repeat(64),
    response: '{"status":"success","message":"Größe “ok”"}',
    expiresAt: NOW + 300_000,
    ...fields,
  };
}

/** A commit of one scope's settings. */
export function change(
  scope: string,
  expectedRevision: number,
  settings: Readonly<Record<string, Setting>>,
  rest: Partial<Commit> = {},
): Commit {
  return {
    state: { scope, expectedRevision, settings: new Map(Object.entries(settings)) },
    audit: auditEntry(),
    now: NOW,
    ...rest,
  };
}

/** The scope's revision that a commit came to; anything but a commit fails. */
export function committedRevision(result: CommitResult): number | undefined {
  if (result.outcome !== 'committed') throw new Error(`not committed: ${result.outcome}`);
  return result.revision;
}

/** Writes entries to the trail alone, in order. */
export async function appendAudit(store: StateStore, entries: readonly AuditEntry[]): Promise<void> {
  for (const audit of entries) await store.commit({ audit, now: NOW });
}

/** What a query finds on all of its pages, newest first. */
export async function everyEntry(store: StateStore, query: AuditQuery = { limit: 1000 }): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.queryAudit({ ...query, ...(cursor !== undefined && { cursor }) });
    if (page.entries.length > query.limit) throw new Error(`${page.entries.length} entries in a page`);
    entries.push(...page.entries);
    cursor = page.next;
  } while (cursor !== undefined);
  return entries;
}

/** Ids of the whole trail, newest first. */
export async function auditIds(store: StateStore): Promise<string[]> {
  return (await store.queryAudit({ limit: 1000 })).entries.map(({ id }) => id);
}

/** Resolves when the condition holds; fails loudly after a deadline. */
export async function until(condition: () => boolean, what: string, deadlineMs = 5_000): Promise<number> {
  const start = performance.now();
  while (!condition()) {
    if (performance.now() - start > deadlineMs) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return performance.now() - start;
}
