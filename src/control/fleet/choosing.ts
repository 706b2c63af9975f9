import { hash } from 'node:crypto';
import { BEAT_MS, type Instance } from '../../store/fleet.ts';
import type { Choice, Instances } from '../../wire/target.ts';
import type { Schedule } from '../../wire/time/clock.ts';
import type { Fleet } from './fleet.ts';

/**
 * How many of the next in line read the fleet as often as the chosen ones. The others read it every tenth time: a thousand processes
 * that read a thousand entries each second would keep a Redis busy.
 */
const SPARE = 8;
const SELDOM = 10;

interface ChoosingOptions {
  readonly self: () => Instance;
  /** @default this process alone */
  readonly fleet: Pick<Fleet, 'candidates' | 'summary'> | undefined;
  readonly schedule: Schedule;
}

/** Decides what this process does of what only some processes of the fleet do. */
export class Choosing {
  readonly #options: ChoosingOptions;
  /** Each returns whether this process is chosen, or among the next in line. */
  readonly #deciders = new Set<() => boolean>();
  #isNear = false;
  #skipped = 0;
  #stop: (() => void) | undefined;
  #reading = false;

  constructor(options: ChoosingOptions) {
    this.#options = options;
  }

  /**
   * The ids of the chosen processes, as far as this process knows the fleet.
   * @param spare how many of the next in line to return as well
   */
  chosen(choice: Choice, spare = 0): readonly string[] {
    const { self, fleet } = this.#options;
    return choose(choice, fleet?.candidates(choice.categories) ?? [self()], spare);
  }

  /** The number of chosen processes, which is the same for every choice. */
  number(categories: readonly string[], instances: Instances | undefined): number {
    return this.chosen({ id: '', categories, instances }).length;
  }

  /**
   * Begins something for as long as this process is chosen: at once if no choice is needed or there is no fleet, otherwise once the
   * fleet has been read, and decided again while it lasts. While the store is unreachable, the last decision stays.
   * @returns a function that ends it
   */
  whileChosen(choice: Choice, begin: () => () => void): () => void {
    const { self, fleet } = this.#options;
    if (choice.instances === undefined) return begin();
    let end: (() => void) | undefined;
    const decide = () => {
      if (this.chosen(choice).includes(self().id)) end ??= begin();
      else {
        end?.();
        end = undefined;
      }
      return this.chosen(choice, SPARE).includes(self().id);
    };
    if (fleet === undefined) decide();
    else this.#follow(decide, fleet);
    return () => {
      this.#deciders.delete(decide);
      end?.();
      end = undefined;
      if (this.#deciders.size > 0) return;
      this.#stop?.();
      this.#stop = undefined;
    };
  }

  close(): void {
    this.#stop?.();
  }

  #follow(decide: () => boolean, fleet: Pick<Fleet, 'summary'>): void {
    this.#deciders.add(decide);
    void this.#read(fleet);
    this.#stop ??= this.#options.schedule(BEAT_MS, () => {
      this.#skipped += 1;
      if (this.#isNear || this.#skipped >= SELDOM) void this.#read(fleet);
    });
  }

  /** Reads the fleet and decides. What begins during a read is decided with it or at the next one. */
  async #read(fleet: Pick<Fleet, 'summary'>): Promise<void> {
    if (this.#reading) return;
    this.#reading = true;
    const known = await fleet.summary();
    this.#reading = false;
    this.#skipped = 0;
    if (known === undefined) return;
    this.#isNear = [...this.#deciders].map((decide) => decide()).includes(true);
  }
}

export type Candidate = Pick<Instance, 'id' | 'host' | 'pid' | 'version'>;

/**
 * The ids of the chosen processes. Every process computes the same from the same candidates, by rendezvous hashing: when a
 * process ends, the next in line takes its place and the others stay chosen (https://en.wikipedia.org/wiki/Rendezvous_hashing).
 * @param spare how many of the next in line to return as well
 */
export function choose(
  { id: choice, instances = {} }: Choice,
  candidates: readonly Candidate[],
  spare = 0,
): readonly string[] {
  const { ids, version, count, percent = 100 } = instances;
  const meant = candidates
    .filter(({ id, host, pid }) => ids === undefined || ids.includes(id) || ids.includes(`${host}:${pid}`))
    .filter((candidate) => version === undefined || candidate.version === version)
    .map(({ id }) => id);
  const number = spare + (count ?? Math.max(1, Math.round((meant.length * percent) / 100)));
  if (number >= meant.length) return meant;
  return meant
    .map((id) => ({ id, rank: hash('sha256', `${choice} ${id}`) }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .slice(0, number)
    .map(({ id }) => id);
}
