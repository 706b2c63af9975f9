import { type LineCounts, NO_LINES, sumOfLines } from '../../wire/member-calls.ts';
import type { CountedInstances } from '../../wire/messages.ts';
import type { Clock } from '../../wire/time/clock.ts';
import type { Entry } from './roster.ts';

/** The calls of a category in the other processes, or of a tenant in it. */
interface Sums {
  total: number;
  rate: number;
  /** Calls that were counted while their process was known. */
  seen: number;
}

type TotalsByInstance = ReadonlyMap<string, { readonly totals: ReadonlyMap<string, number>; readonly cut: boolean }>;
const NONE_KNOWN: TotalsByInstance = new Map();
/** Time between two reads in which calls are seen, in milliseconds: more than a step of the history. */
const SEEN_WITHIN_MS = 20_000;

/** Sums up what the other processes of the fleet announced of their calls. */
export class AnnouncedCalls {
  readonly #clock: Clock;
  #sums: ReadonlyMap<string, Sums> = new Map();
  #lines: ReadonlyMap<string, LineCounts> = new Map();
  /** At the last read. */
  #before: TotalsByInstance = NONE_KNOWN;
  #readAt = Number.NEGATIVE_INFINITY;
  #instances: CountedInstances = { of: 1, counted: 1 };
  #until = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * @param entries of the processes that are heard of; one that does not announce its calls is not counted
   * @param silent number of the other ones
   */
  read(entries: readonly Entry[], self: string, silent = 0): void {
    const others = entries.filter(({ instance }) => instance.id !== self);
    const sums = new Map<string, Sums>();
    const lines = new Map<string, LineCounts>();
    const now = this.#clock.monotonic();
    const isRecent = now - this.#readAt <= SEEN_WITHIN_MS;
    const known = isRecent ? this.#before : NONE_KNOWN;
    /** Wall time since which another process is new. */
    const newSince = isRecent ? this.#clock.now() - (now - this.#readAt) : Number.POSITIVE_INFINITY;
    const read = new Map<string, { totals: Map<string, number>; cut: boolean }>();
    for (const { instance, calls } of others) {
      if (calls === undefined) continue;
      for (const [category, counts] of Object.entries(calls.lines ?? {}))
        lines.set(category, sumOfLines(lines.get(category) ?? NO_LINES, counts));
      const cut = calls.cut === true;
      const before = known.get(instance.id);
      const isUnseen = cut || (before === undefined ? instance.startedAt <= newSince : before.cut);
      const totals = new Map<string, number>();
      for (const [category, total, rate, tenantId] of calls.figures) {
        const key = keyOf(category, tenantId);
        totals.set(key, total);
        const sum = sums.get(key) ?? { total: 0, rate: 0, seen: this.#sums.get(key)?.seen ?? 0 };
        sums.set(key, sum);
        sum.total += total;
        sum.rate += rate;
        // What an older process counted before it was known, while its announcements were cut, or in an outage, was not seen.
        const seenBefore = before?.totals.get(key) ?? (isUnseen ? total : 0);
        sum.seen += Math.max(0, total - seenBefore);
      }
      read.set(instance.id, { totals, cut });
    }
    // What was seen of a category stays seen when its last process ends. Tenants are too many to remember.
    for (const [key, { seen }] of this.#sums) {
      const isOfTenant = !key.endsWith(keyOf(''));
      if (!isOfTenant && !sums.has(key)) sums.set(key, { total: 0, rate: 0, seen });
    }
    this.#sums = sums;
    this.#lines = lines;
    this.#before = read;
    this.#readAt = now;
    this.#instances = {
      of: others.length + 1 + silent,
      counted: [...read.values()].filter(({ cut }) => !cut).length + 1,
      ...(silent > 0 && { silent }),
    };
    this.#until = now + Math.max(0, ...others.map(({ goneAfter }) => goneAfter));
  }

  /** Called while the store is unreachable: what is counted until the next read is not seen. */
  interrupt(): void {
    this.#before = NONE_KNOWN;
  }

  /** While the store is unreachable, nothing more is seen, and what was seen before stays. */
  of(category: string, tenantId?: string): Readonly<Sums> | undefined {
    const sums = this.#sums.get(keyOf(category, tenantId));
    return sums === undefined || this.#isCurrent ? sums : { total: 0, rate: 0, seen: sums.seen };
  }

  linesOf(category: string): LineCounts {
    return (this.#isCurrent ? this.#lines.get(category) : undefined) ?? NO_LINES;
  }

  /** While the store is unreachable, only this process is counted. */
  instances(): CountedInstances {
    return this.#isCurrent ? this.#instances : { ...this.#instances, counted: 1 };
  }

  get #isCurrent(): boolean {
    return this.#clock.monotonic() <= this.#until;
  }
}

function keyOf(category: string, tenantId = ''): string {
  return `${category}\n${tenantId}`;
}
