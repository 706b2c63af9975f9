import type { Clock, Schedule } from '../clock.ts';
import type { AuditDraft } from '../control/types.ts';
import { RdcpError } from '../errors.ts';
import type { AuditEntry } from '../protocol/messages.ts';
import type { CommitResult, StateStore } from '../store/state-store.ts';
import type { LogRecord, Telemetry } from '../telemetry.ts';
import { type ChainHead, type ChainIdentity, NO_PREVIOUS_HASH, seal } from './chain.ts';
import { auditRecord, checkpointRecord } from './log-record.ts';
import { createRefusalTallies } from './refusals.ts';
import type { AuditTrail } from './types.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Refusals of known clients that wait to be written. What comes beyond is told by address, as anonymous ones are. */
const MAX_WAITING = 1000;

export interface AuditTrailOptions {
  readonly store: Pick<StateStore, 'commit' | 'newestAudit' | 'queryAudit' | 'pruneAudit'>;
  readonly telemetry: Pick<Telemetry, 'logger'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly schedule: Schedule;
  readonly chain: ChainIdentity;
  readonly randomUUID: () => string;
  /** Told of what goes wrong outside any request. */
  readonly report: (error: unknown) => void;
}

/** The audit trail of this process: entries are sealed, written and echoed one at a time. */
export function createAuditTrail(options: AuditTrailOptions): AuditTrail {
  const { store, telemetry, clock, schedule, chain, randomUUID, report } = options;
  let head: ChainHead | undefined;
  let tail: Promise<unknown> = Promise.resolve();
  let healthy = true;
  let waiting = 0;

  function emit(record: LogRecord): void {
    try {
      telemetry.logger.emit(record);
    } catch (error) {
      report(error);
    }
  }

  /** The first entry of this process points at the newest one that the store holds. */
  async function currentHead(): Promise<ChainHead> {
    head ??= { sequence: 0, hash: (await store.newestAudit())?.compliance.hash ?? NO_PREVIOUS_HASH };
    return head;
  }

  async function append(draft: AuditDraft, persist: (entry: AuditEntry) => Promise<CommitResult>) {
    try {
      const entry = seal(draft, await currentHead(), chain, { id: randomUUID(), now: clock.now() });
      const result = await persist(entry);
      if (result.outcome === 'committed') {
        head = { sequence: entry.compliance.sequence, hash: entry.compliance.hash };
        emit(auditRecord(entry));
      }
      healthy = true;
      return result;
    } catch (error) {
      healthy = false;
      throw error;
    }
  }

  /** One after the other: each entry needs the hash of the one before it. */
  function record(draft: AuditDraft, persist: (entry: AuditEntry) => Promise<CommitResult>): Promise<CommitResult> {
    const appended = tail.then(() => append(draft, persist));
    tail = appended.catch(() => undefined);
    return appended;
  }

  function write(draft: AuditDraft): void {
    waiting += 1;
    record(draft, (audit) => store.commit({ audit, now: clock.now() }))
      .catch(report)
      .finally(() => {
        waiting -= 1;
      });
  }

  const tallies = createRefusalTallies(write);
  const timers = [
    schedule(MINUTE_MS, tallies.flush),
    schedule(HOUR_MS, () => {
      if (head !== undefined) emit(checkpointRecord(chain.instanceId, head));
      store.pruneAudit(clock.now()).catch(report);
    }),
  ];

  return {
    record,
    refused(draft) {
      const anonymous = draft.identity.method === undefined;
      if (anonymous || waiting >= MAX_WAITING) tallies.add(draft);
      else write(draft);
    },
    async query(query) {
      // Whoever looks wants to see what has just been refused, too.
      tallies.flush();
      await tail;
      try {
        return await store.queryAudit(query);
      } catch (cause) {
        if (cause instanceof RdcpError) throw cause;
        throw new RdcpError('RDCP_UNAVAILABLE', 'The audit trail cannot be read now', {
          headers: { 'Retry-After': '5' },
          cause,
        });
      }
    },
    get healthy() {
      return healthy;
    },
    async close() {
      for (const stop of timers) stop();
      tallies.flush();
      await tail;
    },
  };
}
