import type { Schedule } from '../clock.ts';
import type { Condition } from '../conditions.ts';
import type { Persist, PersistAll } from '../control/types.ts';
import { failureCode, RdcpError } from '../errors.ts';
import type { AuditEntry } from '../protocol/messages.ts';
import type { CommitResult, StateStore } from '../store/state-store.ts';
import { type ChainHead, headOf, NO_PREVIOUS_HASH, seal, type UnsealedEntry } from './chain.ts';

/** How often a store that failed is tried again, while something waits for it. */
const RETRY_MS = 1000;
/** Entries that wait for a store that is down, at most. */
const MAX_DEFERRED = 1000;
/** Entries that are looked through at a time for the one in doubt. */
const PAGE = 100;

export interface SequencerOptions {
  readonly store: Pick<StateStore, 'newestAudit' | 'queryAudit'>;
  readonly schedule: Schedule;
  /** Called for every write that failed. */
  readonly failed: () => void;
  /** Holds while the store does not take entries. */
  readonly condition: Condition;
  readonly report: (error: unknown) => void;
}

/** Puts entries into the chain of this process, one after the other: each needs the hash of the one before it. */
export interface Sequencer {
  /** Where the chain stands; `undefined` before the first entry. */
  readonly head: ChainHead | undefined;
  /** Whether the store took the last write; true before the first. */
  readonly healthy: boolean;
  append(entries: readonly NewEntry[], persist: PersistAll): Promise<readonly CommitResult[]>;
  /**
   * Keeps an entry until the store is back. False when too many are kept already.
   * @param most of the entries with the same outcome that may be kept. @default as many as there is room for
   */
  defer(entry: UnsealedEntry, persist: Persist, most?: number): boolean;
  /** Resolves when nothing is being written. */
  idle(): Promise<void>;
  /** Tries once more to write what waits. */
  close(): Promise<void>;
}

export interface NewEntry {
  readonly entry: UnsealedEntry;
  /** Called with the sealed entry once the store has it. */
  readonly kept: (entry: AuditEntry) => void;
}

interface Deferred {
  readonly entry: UnsealedEntry;
  readonly persist: Persist;
}

export function createSequencer({ store, schedule, failed, condition, report }: SequencerOptions): Sequencer {
  let head: ChainHead | undefined;
  let healthy = true;
  let tail: Promise<unknown> = Promise.resolve();
  let stopRetrying: (() => void) | undefined;
  const deferred: Deferred[] = [];
  /** Entries whose write was rejected: the store may hold all of them nevertheless, when only the answer was lost. */
  let inDoubt: { readonly last: AuditEntry; readonly from: ChainHead; readonly kept: () => void } | undefined;

  function serially<T>(work: () => Promise<T>): Promise<T> {
    const done = tail.then(work);
    tail = done.catch(() => undefined);
    return done;
  }

  /** What the next entry points at. The first one of this process does at the newest that the store holds when it is written. */
  async function standing(): Promise<ChainHead> {
    return head ?? { sequence: 0, hash: (await store.newestAudit())?.compliance.hash ?? NO_PREVIOUS_HASH };
  }

  async function settleDoubt(): Promise<void> {
    if (inDoubt === undefined) return;
    const { last, from, kept } = inDoubt;
    const found = await holds(last, from);
    inDoubt = undefined;
    if (!found) return;
    head = headOf(last);
    kept();
  }

  /** Looks back from the newest as far as the chain stood: what is in doubt can only have come after that. */
  async function holds({ id, compliance: { instanceId } }: AuditEntry, from: ChainHead): Promise<boolean> {
    let cursor: string | undefined;
    do {
      const page = await store.queryAudit({ limit: PAGE, ...(cursor && { cursor }) });
      for (const entry of page.entries) {
        if (entry.id === id) return true;
        if (entry.compliance.hash === from.hash || entry.compliance.instanceId === instanceId) return false;
      }
      cursor = page.next;
    } while (cursor !== undefined);
    return false;
  }

  async function put(
    entries: readonly NewEntry[],
    persist: PersistAll,
    from: ChainHead,
  ): Promise<readonly CommitResult[]> {
    let link = from;
    const sealed = entries.map(({ entry }) => {
      const next = seal(entry, link);
      link = headOf(next);
      return next;
    });
    const tell = (count: number) => {
      for (let index = 0; index < count; index++) entries[index]?.kept(sealed[index] as AuditEntry);
    };
    try {
      const results = await persist(sealed);
      const count = results.filter(({ outcome }) => outcome === 'committed').length;
      const last = sealed[count - 1];
      if (last !== undefined) head = headOf(last);
      tell(count);
      return results;
    } catch (error) {
      const last = sealed.at(-1);
      if (last !== undefined) inDoubt = { last, from, kept: () => tell(sealed.length) };
      throw error;
    }
  }

  /** What is to come before, and where the chain stands then. */
  async function prepare(): Promise<ChainHead> {
    if (inDoubt !== undefined) await settleDoubt();
    for (let next = deferred[0]; next !== undefined; next = deferred[0]) {
      const { entry, persist } = next;
      const drop = () => {
        if (deferred[0] === next) deferred.shift();
      };
      const persistOne: PersistAll = async ([sealed]) => [await persist(sealed as AuditEntry)];
      const [result] = await put([{ entry, kept: drop }], persistOne, await standing());
      if (result?.outcome === 'committed') continue;
      drop();
      report(lost(`an audit entry that was deferred could not be written: ${result?.outcome}`));
    }
    return standing();
  }

  async function attempt<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await work();
      healthy = true;
      condition.end();
      return result;
    } catch (error) {
      healthy = false;
      failed();
      condition.begin(`the audit trail cannot be written${failureCode(error)}`);
      retry();
      throw error;
    }
  }

  /** The store failed, or nothing would have to wait: it is tried again in a moment. */
  function retry(): void {
    stopRetrying ??= schedule(RETRY_MS, () => {
      if (healthy && deferred.length === 0) {
        stopRetrying?.();
        stopRetrying = undefined;
      } else void catchUp();
    });
  }

  /** Waits for one attempt at a time, so that a store which answers slowly is not asked more and more. */
  let catchingUp: Promise<unknown> | undefined;
  function catchUp(): Promise<unknown> {
    catchingUp ??= serially(() => attempt(prepare))
      .catch(() => undefined)
      .finally(() => {
        catchingUp = undefined;
      });
    return catchingUp;
  }

  async function prepared(): Promise<ChainHead> {
    try {
      return await prepare();
    } catch (cause) {
      throw new RdcpError('RDCP_UNAVAILABLE', 'The audit trail cannot be reached, so nothing was changed', {
        headers: { 'Retry-After': '5' },
        cause,
      });
    }
  }

  return {
    get head() {
      return head;
    },
    get healthy() {
      return healthy;
    },
    append: (entries, persist) =>
      serially(() =>
        attempt(async () => {
          const known = inDoubt === undefined && deferred.length === 0 ? head : undefined;
          return put(entries, persist, known ?? (await prepared()));
        }),
      ),
    defer(entry, persist, most = MAX_DEFERRED) {
      const alike = deferred.filter((each) => each.entry.outcome === entry.outcome).length;
      if (deferred.length >= MAX_DEFERRED || alike >= most) return false;
      deferred.push({ entry, persist });
      retry();
      return true;
    },
    async idle() {
      await tail;
    },
    async close() {
      await tail;
      if (deferred.length > 0) await catchUp();
      stopRetrying?.();
      if (deferred.length > 0) report(lost(`audit entries that could not be written: ${deferred.length}`));
    },
  };
}

function lost(message: string): RdcpError {
  return new RdcpError('RDCP_AUDIT_WRITE_FAILED', message);
}
