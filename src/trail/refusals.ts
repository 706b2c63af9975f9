import { LRUCache } from 'lru-cache';
import type { AuditDraft } from './types.ts';

/** Unauthenticated senders in a minute. A flood from more becomes one entry, so that it pushes no operator's entries out of the trail. */
const MAX_STRANGERS = 50;
/** The same for known identities, by what they were refused. */
const MAX_KNOWN = 1000;
/** Refusals of a known identity that each get an entry with their request id, per endpoint, code and minute. */
const SINGLE_ENTRIES = 10;

/** Bytes that refusal entries may take in a day: half for known identities, and a 24th per hour. */
const BYTES_PER_DAY = 16 * 1024 * 1024;
/** Size of an entry without its draft, as measured: chain fields and the store's indexes. */
const SEALED_BYTES = 800;
const MINUTES_AN_HOUR = 60;

/** Counts refused requests and handshakes by sender and reason, until each count is written as one entry. */
export class RefusalTallies {
  readonly #known: Group;
  readonly #strangers: Group;
  readonly #groups: readonly Group[];
  #minutes = 0;

  constructor(bytesPerDay = BYTES_PER_DAY) {
    const bytesPerHour = bytesPerDay / 2 / 24;
    this.#known = new Group(MAX_KNOWN, SINGLE_ENTRIES, bytesPerHour);
    this.#strangers = new Group(MAX_STRANGERS, 1, bytesPerHour);
    this.#groups = [this.#known, this.#strangers];
  }

  /** Whether it gets an entry at once: the first few of a known identity in a minute. Others are counted. */
  isSingle(draft: AuditDraft, path?: string): boolean {
    return !isStranger(draft) && this.#known.spendOn(senderOf(draft, path), draft);
  }

  add(draft: AuditDraft, path?: string): void {
    const group = isStranger(draft) ? this.#strangers : this.#known;
    group.add(senderOf(draft, path), draft);
  }

  /** Removes and returns all counts; called once a minute. */
  takeAll(): AuditDraft[] {
    const taken = this.#groups.flatMap((group) => group.takeAll());
    this.#minutes += 1;
    if (this.#minutes % MINUTES_AN_HOUR === 0) for (const group of this.#groups) group.beginHour();
    return taken;
  }

  /** Counts that are not in the trail yet, for a query; each sender a few times at most until `takeAll`, however often it is asked. */
  takeUnwritten(): AuditDraft[] {
    return this.#groups.flatMap((group) => group.takeUnwritten());
  }
}

/** A bounded LRU of senders, with bounded bytes an hour: a client without a credential must not fill the disk of a long trail. */
class Group {
  readonly #most: number;
  /** Entries that one sender may have before the minute ends. */
  readonly #each: number;
  readonly #bytesPerHour: number;
  readonly #tallies: LRUCache<string, AuditDraft>;
  readonly #written = new Map<string, number>();
  #spent = 0;
  /** Everything beyond these bounds, as one entry a minute. */
  #beyond: AuditDraft | undefined;
  /** Whether a query has written that entry in this minute. */
  #beyondWritten = false;

  constructor(most: number, each: number, bytesPerHour: number) {
    this.#most = most;
    this.#each = each;
    this.#bytesPerHour = bytesPerHour;
    this.#tallies = new LRUCache<string, AuditDraft>({
      max: most,
      dispose: (tally, _, reason) => {
        if (reason === 'evict') this.#addBeyond(tally);
      },
    });
  }

  get #isSpent(): boolean {
    return this.#spent >= this.#bytesPerHour;
  }

  add(sender: string, draft: AuditDraft): void {
    if (this.#isSpent) this.#addBeyond(draft);
    else this.#tallies.set(sender, joined(this.#tallies.get(sender), draft));
  }

  /** Counts an entry of the sender; returns false when the sender, or the number of senders, is over its limit. */
  spendOn(sender: string, draft: AuditDraft): boolean {
    const count = this.#written.get(sender) ?? 0;
    if (this.#isSpent || count >= this.#each || (count === 0 && this.#written.size >= this.#most)) return false;
    this.#written.set(sender, count + 1);
    this.#spend(draft);
    return true;
  }

  takeAll(): AuditDraft[] {
    const taken: AuditDraft[] = [];
    for (const tally of [...this.#tallies.values()].reverse()) {
      if (this.#isSpent) {
        this.#addBeyond(tally);
        continue;
      }
      taken.push(tally);
      this.#spend(tally);
    }
    this.#tallies.clear();
    this.#written.clear();
    this.#beyondWritten = false;
    return [...taken, ...this.#takeBeyond()];
  }

  takeUnwritten(): AuditDraft[] {
    const taken: AuditDraft[] = [];
    for (const [sender, tally] of [...this.#tallies].reverse()) {
      if (!this.spendOn(sender, tally)) continue;
      this.#tallies.delete(sender);
      taken.push(tally);
    }
    if (!this.#isSpent || this.#beyondWritten || this.#beyond === undefined) return taken;
    this.#beyondWritten = true;
    return [...taken, ...this.#takeBeyond()];
  }

  beginHour(): void {
    this.#spent = 0;
  }

  #spend(draft: AuditDraft): void {
    this.#spent += SEALED_BYTES + JSON.stringify(draft).length;
  }

  #addBeyond(tally: AuditDraft): void {
    this.#beyond = joined(this.#beyond, tally);
  }

  #takeBeyond(): readonly AuditDraft[] {
    const beyond = this.#beyond;
    this.#beyond = undefined;
    return beyond === undefined ? [] : [beyond];
  }
}

function isStranger({ identity }: AuditDraft): boolean {
  return identity.method === undefined;
}

/** An unauthenticated sender is its address and the reason; a known identity also counts by what it was refused. */
function senderOf(draft: AuditDraft, path: string | undefined): string {
  const { source, reason, identity, tenant, action, error } = draft;
  if (isStranger(draft)) return JSON.stringify([source?.address, reason]);
  return JSON.stringify([source?.address, reason, identity.userId, identity.clientId, tenant?.id, action, error, path]);
}

/** Adds two counts, with the details that they share. */
function joined(before: AuditDraft | undefined, draft: AuditDraft): AuditDraft {
  if (before === undefined) return draft;
  const { requestId: _, count = 1, identity, source = {}, tenant, reason, error, ...rest } = before;
  const place = source.address === draft.source?.address ? shared(source, draft.source) : {};
  return {
    ...rest,
    identity: shared(identity, draft.identity),
    ...(Object.keys(place).length > 0 && { source: place }),
    ...shared({ tenant, reason, error }, draft),
    count: count + (draft.count ?? 1),
  };
}

function shared<T extends object>(one: T, other: object = {}): { [Name in keyof T]?: NonNullable<T[Name]> } {
  const members: object = Object.fromEntries(
    Object.entries(one).filter(
      ([name, value]) => value !== undefined && JSON.stringify(value) === JSON.stringify(Reflect.get(other, name)),
    ),
  );
  return members;
}
