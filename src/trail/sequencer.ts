import type { Condition } from '../otel/report/conditions.ts';
import { inTurn, joining } from '../store/one-at-a-time.ts';
import type { CommitResult, ReplayRecord } from '../store/state-store.ts';
import type { AuditEntry } from '../wire/audit-messages.ts';
import { failureCode, RdcpError, unavailable } from '../wire/errors.ts';
import type { Clock } from '../wire/time/clock.ts';
import { timers } from '../wire/time/timers.ts';
import { type ChainHead, headOf, NO_PREVIOUS_HASH, seal, type UnsealedEntry, unsealed } from './chain.ts';
import type { AuditTrailOptions } from './trail.ts';
import type { AuditDraft, AuditRecorder } from './types.ts';

const RETRY_MS = 1000;
const MAX_DEFERRED = 1000;
/** Page size when searching for the entry in doubt. */
const PAGE = 100;

export interface SequencerOptions
  extends Pick<AuditTrailOptions, 'store' | 'chain' | 'randomUUID' | 'schedule' | 'sign' | 'report'> {
  readonly clock: Pick<Clock, 'now'>;
  readonly retainFrom: () => number;
  readonly emit: (entry: AuditEntry) => void;
  readonly failed: () => void;
  /** Holds while the store does not accept entries. */
  readonly condition: Condition;
}

export interface DeferredEntry {
  readonly entry: UnsealedEntry;
  readonly replay?: ReplayRecord | undefined;
  readonly kept?: (() => void) | undefined;
}

interface Addition {
  readonly unsealed: UnsealedEntry;
  /** What it was made from; `undefined` for an entry that is deferred. */
  readonly draft?: AuditDraft;
  readonly from: ChainHead;
  readonly kept: (entry: AuditEntry) => void;
}

/** Appends entries to this process's chain one at a time, since each needs the hash of the one before it. */
export class Sequencer {
  readonly #options: SequencerOptions;
  readonly #deferred: DeferredEntry[] = [];
  #head: ChainHead | undefined;
  #healthy = true;
  /** Holds the chain. */
  readonly #inTurn = inTurn();
  /** One attempt at a time, so that retries do not pile up on a slow store. Never rejects. */
  readonly #catchUp = joining(() => this.#inTurn(() => this.#writeWaiting()));
  #stopRetrying: (() => void) | undefined;
  /** An entry whose write was rejected. The store may hold it all the same, when only its answer was lost. */
  #inDoubt: (Addition & { readonly entry: AuditEntry }) | undefined;

  constructor(options: SequencerOptions) {
    this.#options = options;
  }

  get head(): ChainHead | undefined {
    return this.#head;
  }

  get healthy(): boolean {
    return this.#healthy;
  }

  /** As in {@link AuditRecorder.append}. */
  append(draft: AuditDraft, commit: (entry: AuditEntry) => Promise<CommitResult>): Promise<CommitResult> {
    return this.#inTurn(async () => {
      const { from, unsealed } = await this.#begin(draft);
      const result = await this.#add({ draft, unsealed, from, kept: this.#options.emit }, (entry) =>
        commit(entry).catch((error: unknown) => {
          this.#notWritten(error);
          throw error;
        }),
      );
      this.#written();
      return result;
    });
  }

  async #begin(draft: AuditDraft): Promise<{ readonly from: ChainHead; readonly unsealed: UnsealedEntry }> {
    const unsealed = this.#unsealed(draft);
    try {
      const known = this.#inDoubt === undefined && this.#deferred.length === 0 ? this.#head : undefined;
      return { from: known ?? (await this.#prepare()), unsealed };
    } catch (cause) {
      this.#notWritten(cause);
      throw unavailable('The audit trail is unavailable, so nothing was changed', cause);
    }
  }

  /** An entry to defer: the one in doubt, if that was made from this very draft. */
  entryOf(draft: AuditDraft): UnsealedEntry {
    return this.#inDoubt?.draft === draft ? this.#inDoubt.unsealed : this.#unsealed(draft);
  }

  #unsealed(draft: AuditDraft): UnsealedEntry {
    const { chain, randomUUID, clock, retainFrom } = this.#options;
    return unsealed(draft, chain, { id: randomUUID(), now: clock.now(), retainFrom: retainFrom() });
  }

  /** Keeps an entry until the store is back; false when too many are deferred. @param most of the same outcome. @default of all */
  defer(deferred: DeferredEntry, most = MAX_DEFERRED): boolean {
    const alike = this.#deferred.filter(({ entry }) => entry.outcome === deferred.entry.outcome).length;
    if (this.#deferred.length >= MAX_DEFERRED || alike >= most) return false;
    this.#deferred.push(deferred);
    this.#retry();
    return true;
  }

  /** Resolves when no write is in progress. */
  idle(): Promise<void> {
    return this.#inTurn(async () => {});
  }

  /** Makes a last attempt to write deferred entries. */
  async close(): Promise<void> {
    await this.idle();
    if (this.#deferred.length > 0) await this.#catchUp();
    this.#stopRetrying?.();
    const left = this.#deferred.length;
    if (left > 0) this.#options.report(lost(`audit entries that could not be written: ${left}`));
  }

  /** Writes an entry at the end of the chain, which advances with the store's answer. */
  async #add(
    addition: Addition,
    commit: (entry: AuditEntry) => Promise<CommitResult>,
    now?: number,
  ): Promise<CommitResult> {
    const { unsealed, from } = addition;
    const { compliance, ...rest } = seal(unsealed, from, now);
    const signature = this.#options.sign?.(compliance.hash);
    const entry: AuditEntry = { ...rest, compliance: { ...compliance, ...(signature && { signature }) } };
    const result = await commit(entry).catch((error: unknown) => {
      this.#inDoubt = { ...addition, entry };
      throw error;
    });
    if (result.outcome === 'committed') this.#keep(addition, entry);
    return result;
  }

  #keep({ from, kept }: Pick<Addition, 'from' | 'kept'>, entry: AuditEntry): void {
    this.#head = headOf(entry, from);
    kept(entry);
  }

  /** Writes what must come first, and returns the end of the chain. */
  async #prepare(): Promise<ChainHead> {
    await this.#resolveDoubt();
    for (let next = this.#deferred[0]; next !== undefined; next = this.#deferred[0]) {
      await this.#writeDeferred(next);
      // There may be a thousand; other work runs in between.
      if (this.#deferred.length > 0) await new Promise(timers.setImmediate);
    }
    return this.#standing();
  }

  /** The entry that the next one links to. The first entry of this process links to the newest stored one. */
  async #standing(): Promise<ChainHead> {
    if (this.#head !== undefined) return this.#head;
    const newest = await this.#options.store.newestAudit();
    return newest === undefined ? { sequence: 0, hash: NO_PREVIOUS_HASH } : { ...headOf(newest), sequence: 0 };
  }

  async #writeDeferred(next: DeferredEntry): Promise<void> {
    const kept = (entry: AuditEntry) => this.#stored(next, entry);
    const addition = { unsealed: next.entry, from: await this.#standing(), kept };
    const { outcome } = await this.#add(
      addition,
      (entry) => this.#commit(entry, next.replay),
      this.#options.clock.now(),
    );
    if (outcome === 'committed') return;
    this.#drop(next);
    if (isClaim(next.replay)) return;
    this.#options.report(lost(`an audit entry that was deferred could not be written: ${outcome}`));
  }

  #stored(deferred: DeferredEntry, entry: AuditEntry): void {
    this.#drop(deferred);
    deferred.kept?.();
    if (isClaim(deferred.replay)) this.#options.emit(entry);
  }

  #drop(deferred: DeferredEntry): void {
    const index = this.#deferred.indexOf(deferred);
    if (index >= 0) this.#deferred.splice(index, 1);
  }

  async #commit(audit: AuditEntry, replay: ReplayRecord | undefined): Promise<CommitResult> {
    const { store, clock } = this.#options;
    const now = clock.now();
    const valid = replay !== undefined && replay.expiresAt > now;
    const result = await store.commit({ audit, ...(valid && { replay }), now });
    // Another process answered that request id meanwhile. The outcome in this process is recorded nevertheless.
    return result.outcome === 'replayed' && !isClaim(replay) ? store.commit({ audit, now }) : result;
  }

  async #resolveDoubt(): Promise<void> {
    if (this.#inDoubt === undefined) return;
    const { entry, from, kept } = this.#inDoubt;
    const found = await this.#holds(entry, from);
    this.#inDoubt = undefined;
    if (!found) return;
    // An entry that was deferred meanwhile has been emitted.
    const deferred = this.#deferred.find((each) => each.entry.id === entry.id);
    this.#keep({ from, kept: deferred === undefined ? kept : () => this.#stored(deferred, entry) }, entry);
  }

  /** Searches back from the newest entry to where the chain ended: an entry in doubt can only come after that. */
  async #holds({ id, compliance: { instanceId } }: AuditEntry, from: ChainHead): Promise<boolean> {
    let cursor: string | undefined;
    do {
      const page = await this.#options.store.queryAudit({ limit: PAGE, ...(cursor && { cursor }) });
      for (const entry of page.entries) {
        if (entry.id === id) return true;
        if (entry.compliance.hash === from.hash || entry.compliance.instanceId === instanceId) return false;
      }
      cursor = page.next;
    } while (cursor !== undefined);
    return false;
  }

  #written(): void {
    this.#healthy = true;
    this.#options.condition.end();
  }

  #notWritten(error: unknown): void {
    this.#healthy = false;
    this.#options.failed();
    this.#options.condition.begin(`the audit trail cannot be written${failureCode(error)}`);
    this.#retry();
  }

  #retry(): void {
    this.#stopRetrying ??= this.#options.schedule(RETRY_MS, () => {
      if (this.#healthy && this.#deferred.length === 0) {
        this.#stopRetrying?.();
        this.#stopRetrying = undefined;
      } else void this.#catchUp();
    });
  }

  async #writeWaiting(): Promise<void> {
    try {
      const waited = this.#deferred.length > 0;
      await this.#prepare();
      // A store that answers reads but rejects writes has not recovered, so a write is probed when none was pending.
      if (!waited) await this.#options.store.check();
      this.#written();
    } catch (error) {
      this.#notWritten(error);
    }
  }
}

/** Whether it stands for a task that one process does for all. */
export function isClaim(replay: ReplayRecord | undefined): boolean {
  return replay?.fingerprint === '';
}

function lost(message: string): RdcpError {
  return new RdcpError('RDCP_AUDIT_WRITE_FAILED', message);
}
