import type { Clock, Schedule } from '../clock.ts';
import type { Condition } from '../conditions.ts';
import { failureCode, RdcpError, unavailable } from '../errors.ts';
import type { AuditEntry } from '../protocol/messages.ts';
import type { CommitResult, ReplayRecord, StateStore } from '../store/state-store.ts';
import {
  type ChainHead,
  type ChainIdentity,
  headOf,
  NO_PREVIOUS_HASH,
  seal,
  type UnsealedEntry,
  unsealed,
} from './chain.ts';
import type { Signer } from './signature.ts';
import type { AuditDraft, Recording, Sealed } from './types.ts';

/** How often a store that failed is tried again, while something waits for it. */
const RETRY_MS = 1000;
/** Entries that wait for a store that is down, at most. */
const MAX_DEFERRED = 1000;
/** Entries that are looked through at a time for the one in doubt. */
const PAGE = 100;

export interface SequencerOptions {
  readonly store: Pick<StateStore, 'commit' | 'newestAudit' | 'queryAudit' | 'check'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly chain: ChainIdentity;
  /** Where retention begins, in milliseconds since the epoch. */
  readonly retainFrom: () => number;
  readonly randomUUID: () => string;
  /** Emits the OTel record of an entry that is kept. */
  readonly emit: (entry: AuditEntry) => void;
  readonly schedule: Schedule;
  /** @default nothing is signed */
  readonly sign?: Signer | undefined;
  /** Called for every write that failed. */
  readonly failed: () => void;
  /** Holds while the store does not take entries. */
  readonly condition: Condition;
  readonly report: (error: unknown) => void;
}

interface NewEntry {
  readonly entry: UnsealedEntry;
  /** Called with the sealed entry once the store has it. */
  readonly kept: (entry: AuditEntry) => void;
}

/** An entry that waits for the store, with the answer that is kept in the same step. */
export interface DeferredEntry {
  readonly entry: UnsealedEntry;
  readonly replay?: ReplayRecord | undefined;
  /** Called once the store has both. */
  readonly kept?: (() => void) | undefined;
}

/** Entries next in the chain, and what becomes of the chain when the store has answered. */
interface Link {
  readonly entries: readonly AuditEntry[];
  /** The store has these: the chain advances. */
  advance(results: readonly CommitResult[]): void;
  /** The store may have all of them, or none. */
  doubt(): void;
}

/** Puts entries into the chain of this process, one after the other: each needs the hash of the one before it. */
export class Sequencer {
  readonly #options: SequencerOptions;
  readonly #deferred: DeferredEntry[] = [];
  #head: ChainHead | undefined;
  #healthy = true;
  /** Resolves when the chain is free. */
  #tail: Promise<void> = Promise.resolve();
  #stopRetrying: (() => void) | undefined;
  #catchingUp: Promise<void> | undefined;
  /** Entries whose write was rejected: the store may hold all of them nevertheless, when only the answer was lost. */
  #inDoubt: { readonly last: AuditEntry; readonly from: ChainHead; readonly kept: () => void } | undefined;

  constructor(options: SequencerOptions) {
    this.#options = options;
  }

  /** Where the chain stands; `undefined` before the first entry. */
  get head(): ChainHead | undefined {
    return this.#head;
  }

  /** Whether the store took the last write; true before the first. */
  get healthy(): boolean {
    return this.#healthy;
  }

  /**
   * Seals drafts as the next entries of the chain, which is held until `done` or `failed` of the result is called.
   * @throws {RdcpError} `RDCP_UNAVAILABLE` when what has to come before cannot be written; nothing is held then
   */
  async seal(recordings: readonly Recording[]): Promise<Sealed> {
    const entries = recordings.map(({ draft, whenKept = atOnce }) => ({
      entry: this.entryOf(draft),
      kept: (entry: AuditEntry) => whenKept(() => this.#options.emit(entry)),
    }));
    const release = await this.#takeTurn();
    try {
      const known = this.#inDoubt === undefined && this.#deferred.length === 0 ? this.#head : undefined;
      const link = this.#link(entries, known ?? (await this.#prepared()));
      return {
        entries: link.entries,
        done: (results) => {
          release();
          this.#written();
          link.advance(results);
        },
        failed: (error) => {
          release();
          link.doubt();
          this.#notWritten(error);
        },
      };
    } catch (error) {
      release();
      this.#notWritten(error);
      throw error;
    }
  }

  /** An entry that has no place in the chain yet. */
  entryOf(draft: AuditDraft): UnsealedEntry {
    const { chain, randomUUID, clock, retainFrom } = this.#options;
    return unsealed(draft, chain, { id: randomUUID(), now: clock.now(), retainFrom: retainFrom() });
  }

  /**
   * Keeps an entry until the store is back. False when too many are kept already.
   * @param most of the entries with the same outcome that may be kept. @default as many as there is room for
   */
  defer(deferred: DeferredEntry, most = MAX_DEFERRED): boolean {
    const alike = this.#deferred.filter(({ entry }) => entry.outcome === deferred.entry.outcome).length;
    if (this.#deferred.length >= MAX_DEFERRED || alike >= most) return false;
    this.#deferred.push(deferred);
    this.#retry();
    return true;
  }

  /** Resolves when nothing is being written. */
  idle(): Promise<void> {
    return this.#tail;
  }

  /** Tries once more to write what waits. */
  async close(): Promise<void> {
    await this.#tail;
    if (this.#deferred.length > 0) await this.#catchUp();
    this.#stopRetrying?.();
    const left = this.#deferred.length;
    if (left > 0) this.#options.report(lost(`audit entries that could not be written: ${left}`));
  }

  /** Resolves when the chain is free. Nobody else has it until the returned function is called. */
  #takeTurn(): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const turn = this.#tail.then(() => resolve);
    this.#tail = promise;
    return turn;
  }

  #link(entries: readonly NewEntry[], from: ChainHead): Link {
    const now = this.#options.clock.now();
    const heads = [from];
    const sealed = entries.map(({ entry }) => {
      const head = heads.at(-1) as ChainHead;
      const next = seal(entry, head, now);
      heads.push(headOf(next, head));
      return next;
    });
    const { sign } = this.#options;
    if (sign !== undefined) signLast(sealed, sign);
    const keep = (count: number) => {
      if (count > 0) this.#head = heads[count];
      for (let index = 0; index < count; index++) entries[index]?.kept(sealed[index] as AuditEntry);
    };
    return {
      entries: sealed,
      advance: (results) => keep(results.filter(({ outcome }) => outcome === 'committed').length),
      doubt: () => {
        const last = sealed.at(-1);
        if (last !== undefined) this.#inDoubt = { last, from, kept: () => keep(sealed.length) };
      },
    };
  }

  async #prepared(): Promise<ChainHead> {
    try {
      return await this.#prepare();
    } catch (cause) {
      throw unavailable('The audit trail cannot be reached, so nothing was changed', cause);
    }
  }

  /** What is to come before, and where the chain stands then. */
  async #prepare(): Promise<ChainHead> {
    await this.#resolveDoubt();
    for (let next = this.#deferred[0]; next !== undefined; next = this.#deferred[0]) {
      await this.#writeDeferred(next);
      // There may be a thousand, and the application is not to wait for all of them.
      if (this.#deferred.length > 0) await new Promise(setImmediate);
    }
    return this.#standing();
  }

  /** What the next entry points at. The first one of this process does at the newest that the store holds when it is written. */
  async #standing(): Promise<ChainHead> {
    if (this.#head !== undefined) return this.#head;
    const newest = await this.#options.store.newestAudit();
    return newest === undefined ? { sequence: 0, hash: NO_PREVIOUS_HASH } : { ...headOf(newest), sequence: 0 };
  }

  async #writeDeferred(next: DeferredEntry): Promise<void> {
    const drop = () => {
      if (this.#deferred[0] === next) this.#deferred.shift();
    };
    const kept = () => {
      drop();
      next.kept?.();
    };
    const link = this.#link([{ entry: next.entry, kept }], await this.#standing());
    try {
      const result = await this.#commit(link.entries[0] as AuditEntry, next.replay);
      link.advance([result]);
      if (result.outcome === 'committed') return;
      drop();
      this.#options.report(lost(`an audit entry that was deferred could not be written: ${result.outcome}`));
    } catch (error) {
      link.doubt();
      throw error;
    }
  }

  async #commit(audit: AuditEntry, replay: ReplayRecord | undefined): Promise<CommitResult> {
    const { store, clock } = this.#options;
    const now = clock.now();
    const valid = replay !== undefined && replay.expiresAt > now;
    const first = await store.commit({ audit, ...(valid && { replay }), now, syncLater: true });
    // Another process answered that request id meanwhile. What happened here is told all the same.
    const result = first.outcome === 'replayed' ? await store.commit({ audit, now, syncLater: true }) : first;
    if (result.outcome === 'committed') await result.durable;
    return result;
  }

  async #resolveDoubt(): Promise<void> {
    if (this.#inDoubt === undefined) return;
    const { last, from, kept } = this.#inDoubt;
    const found = await this.#holds(last, from);
    this.#inDoubt = undefined;
    if (found) kept();
  }

  /** Looks back from the newest as far as the chain stood: what is in doubt can only have come after that. */
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

  /** The store failed, or nothing would have to wait: it is tried again in a moment. */
  #retry(): void {
    this.#stopRetrying ??= this.#options.schedule(RETRY_MS, () => {
      if (this.#healthy && this.#deferred.length === 0) {
        this.#stopRetrying?.();
        this.#stopRetrying = undefined;
      } else void this.#catchUp();
    });
  }

  /** One attempt at a time, so that a store which answers slowly is not asked more and more. Never rejects. */
  #catchUp(): Promise<void> {
    this.#catchingUp ??= this.#writeWaiting().finally(() => {
      this.#catchingUp = undefined;
    });
    return this.#catchingUp;
  }

  async #writeWaiting(): Promise<void> {
    const release = await this.#takeTurn();
    try {
      const waited = this.#deferred.length > 0;
      await this.#prepare();
      // A store that only answers reads is no better: where nothing had to be written, it is asked to write something.
      if (!waited) await this.#options.store.check();
      this.#written();
    } catch (error) {
      this.#notWritten(error);
    } finally {
      release();
    }
  }
}

/** The last entry of a write is signed for all of them, and for those before. */
function signLast(sealed: AuditEntry[], sign: NonNullable<SequencerOptions['sign']>): void {
  const last = sealed.at(-1);
  if (last === undefined) return;
  sealed[sealed.length - 1] = { ...last, compliance: { ...last.compliance, signature: sign(last.compliance.hash) } };
}

function atOnce(emit: () => void): void {
  emit();
}

function lost(message: string): RdcpError {
  return new RdcpError('RDCP_AUDIT_WRITE_FAILED', message);
}
