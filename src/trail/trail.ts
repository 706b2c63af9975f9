import { AsyncLocalStorage } from 'node:async_hooks';
import { type Condition, UNWATCHED } from '../otel/report/conditions.ts';
import type { LogRecord, Telemetry } from '../otel/telemetry.ts';
import type { StateStore } from '../store/state-store.ts';
import { isRdcpError, unavailable } from '../wire/errors.ts';
import { createSteadyClock, type RetentionClock, type Schedule } from '../wire/time/clock.ts';
import { timers } from '../wire/time/timers.ts';
import { timestamp } from '../wire/time.ts';
import { type ChainIdentity, hasEnded, isIntact } from './chain.ts';
import { auditRecord, checkpointRecord } from './log-record.ts';
import { RefusalTallies } from './refusals.ts';
import { isClaim, Sequencer } from './sequencer.ts';
import type { Signer } from './signature.ts';
import type { AuditDraft, AuditTrail, RecordedEntry } from './types.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** How long a prune by one process keeps others from starting one. */
const PRUNE_CLAIM_MS = HOUR_MS / 2;

/** Further ones, while the store is away, are counted by sender: the rest of the room is for what an operator does. */
const MAX_DEFERRED_REFUSALS = 100;

/** Refusals of known clients that wait to be written. Further ones are counted by sender, as anonymous ones are. */
const MAX_WAITING = 1000;

/** Entries written in one turn of the event loop: some milliseconds with a store in this process. */
const WRITTEN_AT_ONCE = 50;

export interface AuditTrailOptions {
  readonly store: Pick<StateStore, 'commit' | 'newestAudit' | 'queryAudit' | 'pruneAudit' | 'check'>;
  readonly telemetry: Pick<Telemetry, 'logger' | 'beforeShutdown'>;
  readonly clock: RetentionClock;
  readonly schedule: Schedule;
  readonly chain: ChainIdentity;
  readonly randomUUID: () => string;
  /** The id of this process for the log records. @default the id of the chain */
  readonly instanceId?: () => string;
  /** Signs what is written, so that write access to the store is not enough to forge it. @default nothing is signed */
  readonly sign?: Signer | undefined;
  /** Called with every entry that this process recorded, once. Must not throw. @default nothing */
  readonly recorded?: ((entry: RecordedEntry) => void) | undefined;
  readonly failed?: () => void;
  /** Holds while the store does not accept entries. @default not watched */
  readonly condition?: Condition;
  readonly report: (error: unknown) => void;
}

/** The audit trail of this process: entries are sealed, written and exported one at a time. */
export function createAuditTrail(options: AuditTrailOptions): AuditTrail {
  const {
    store,
    telemetry,
    clock,
    schedule,
    chain,
    instanceId = () => chain.instanceId,
    recorded = () => undefined,
    failed = () => undefined,
    condition = UNWATCHED,
    report,
  } = options;
  // An entry about many requests, or none, belongs to no trace.
  const outsideRequests = AsyncLocalStorage.snapshot();
  const tallies = new RefusalTallies();
  const steadyNow = createSteadyClock(clock);
  let waiting = 0;
  let closing: Promise<void> | undefined;
  let leaveProvider = () => {};
  let pruned = false;

  /** Most processes have no logger provider, so the record is created only when it is needed. */
  function emit(record: () => LogRecord): void {
    followProvider();
    try {
      const { logger } = telemetry;
      if (logger.enabled?.() !== false) logger.emit(record());
    } catch (error) {
      report(error);
    }
  }

  function announce(entry: RecordedEntry): void {
    emit(() => auditRecord(entry, instanceId()));
    recorded(entry);
  }

  const sequencer = new Sequencer({
    ...options,
    failed,
    condition,
    retainFrom: steadyNow,
    emit: announce,
    schedule: (milliseconds, task) => outsideRequests(() => schedule(milliseconds, task)),
  });

  const record: AuditTrail['record'] = (draft, replay) =>
    sequencer.append(draft, (audit) => store.commit({ audit, now: clock.now(), ...(replay && { replay }) }));

  const defer: AuditTrail['defer'] = ({ draft, ...rest }) => {
    const entry = sequencer.entryOf(draft);
    const refused = isRefusal(draft);
    if (!sequencer.defer({ entry, ...rest }, refused ? MAX_DEFERRED_REFUSALS : undefined)) {
      if (refused) tallies.add(draft);
      return refused;
    }
    // Another process may write it first.
    if (!isClaim(rest.replay)) announce(entry);
    return true;
  };

  /** Writes in the background, and defers what the store does not accept now. A loss of power may take the last entries. */
  async function write(draft: AuditDraft): Promise<void> {
    waiting += 1;
    try {
      await sequencer.append(draft, (audit) => store.commit({ audit, now: clock.now(), background: true }));
    } catch (error) {
      if (!defer({ draft })) report(error);
    } finally {
      waiting -= 1;
    }
  }

  async function writeAll(drafts: readonly AuditDraft[]): Promise<void> {
    for (const [index, draft] of drafts.entries()) {
      await outsideRequests(() => write(draft));
      if (index % WRITTEN_AT_ONCE === WRITTEN_AT_ONCE - 1) await new Promise(timers.setImmediate);
    }
  }

  function everyMinute(): void {
    steadyNow();
    void writeAll(tallies.takeAll());
    // An instance that lives less than an hour prunes too.
    if (!pruned) prune().catch(report);
  }

  function everyHour(): void {
    checkpoint();
    prune().catch(report);
  }

  async function prune(): Promise<void> {
    pruned = true;
    const now = Math.min(steadyNow(), clock.now());
    const until = timestamp(now);
    // One of the processes that share the trail prunes. The others find its claim.
    const replay = { key: 'audit:prune', fingerprint: '', response: '', expiresAt: clock.now() + PRUNE_CLAIM_MS };
    await store.pruneAudit(
      now,
      async (chains) => {
        const { outcome } = await record(pruneDraft({ until, chains }), replay);
        return outcome === 'committed';
      },
      (entry) => hasEnded(entry, now, chain.retentionDays) && isIntact(entry),
    );
  }

  function checkpoint(): void {
    const { head } = sequencer;
    if (head !== undefined) emit(() => checkpointRecord(chain.instanceId, instanceId(), head));
  }

  /** Flushes before the logger provider shuts down, the last moment at which records reach it. */
  function followProvider(): void {
    if (closing === undefined) leaveProvider = telemetry.beforeShutdown?.(beforeShutdown) ?? leaveProvider;
  }

  function beforeShutdown(): Promise<void> {
    return closing ?? flush(() => sequencer.idle());
  }

  async function flush(written: () => Promise<void>): Promise<void> {
    await writeAll(tallies.takeAll());
    await written();
    checkpoint();
  }

  followProvider();
  const stops = [schedule(MINUTE_MS, everyMinute), schedule(HOUR_MS, everyHour)];

  return {
    append: sequencer.append.bind(sequencer),
    record,
    defer,
    note(draft) {
      void writeAll([draft]);
    },
    refused(draft, path) {
      followProvider();
      if (waiting < MAX_WAITING && tallies.isSingle(draft, path)) void write(draft);
      else tallies.add(draft, path);
    },
    async query(query) {
      // A query includes what has just been refused.
      await writeAll(tallies.takeUnwritten());
      await sequencer.idle();
      try {
        return await store.queryAudit(query);
      } catch (cause) {
        if (isRdcpError(cause)) throw cause;
        throw unavailable('The audit trail cannot be read now', cause);
      }
    },
    get healthy() {
      return sequencer.healthy;
    },
    async close() {
      for (const stop of stops) stop();
      closing = flush(() => sequencer.close());
      await closing;
      leaveProvider();
    },
  };
}

function pruneDraft(dropped: AuditDraft['dropped'] & object): AuditDraft {
  const reason = `entries retained until ${dropped.until} are dropped`;
  return { action: 'prune', categories: [], changes: [], outcome: 'success', identity: {}, reason, dropped };
}

function isRefusal({ outcome }: AuditDraft): boolean {
  return outcome === 'denied' || outcome === 'failed';
}
