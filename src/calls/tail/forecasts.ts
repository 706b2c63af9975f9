import { type CallCounts, sumOfCounts } from '../../wire/call-counts.ts';
import type { AskedInstances } from '../../wire/streams.ts';
import type { Delay } from '../../wire/time/clock.ts';
import type { Answer } from './fleet-messages.ts';
import type { Asking, Relay } from './relay.ts';
import type { TapFilter } from './types.ts';

const GRACE_MS = 1000;
const LOOK_MS = 20;

/** Load of a category a second, in all processes that answered. */
export interface CategoryLoad {
  readonly callsPerSecond: number;
  readonly bytesPerSecond: number;
  readonly droppedPerSecond: number;
  /** `undefined` if a process does not count them. */
  readonly counts: CallCounts | undefined;
}

export interface ForecastResult {
  readonly instances: AskedInstances;
  /** Ids of the processes that answered. */
  readonly answeredBy: readonly string[];
  readonly categories: ReadonlyMap<string, CategoryLoad>;
}

export interface Gathering {
  /** Before that no process answers. */
  readonly milliseconds: number;
  /** How long the answers may take after that time. @default 1000 */
  readonly graceMs?: number;
  /** How many processes there are. */
  readonly processes: number;
  readonly delay: Delay;
  /** Ends it early. */
  readonly signal: AbortSignal;
}

/**
 * Waits for the answers of all processes, and for late ones only for a while. Ends the asking.
 * @throws the signal's reason when it aborts
 */
export async function gather<Type extends 'measured' | 'failed'>(
  asking: Asking<Type>,
  { milliseconds, graceMs = GRACE_MS, processes, delay, signal }: Gathering,
): Promise<readonly Answer<Type>[]> {
  const pause = (time: number) =>
    new Promise<void>((resolve) => {
      const cancel = delay(time, done);
      signal.addEventListener('abort', done, { once: true });
      function done(): void {
        cancel();
        signal.removeEventListener('abort', done);
        resolve();
      }
    });
  try {
    signal.throwIfAborted();
    await pause(milliseconds);
    for (let waited = 0; waited < graceMs && asking.answers.length < processes; waited += LOOK_MS) {
      signal.throwIfAborted();
      await pause(LOOK_MS);
    }
    signal.throwIfAborted();
    return asking.answers;
  } finally {
    asking.end();
  }
}

/** Measures in every process of the fleet. @throws the signal's reason when it aborts */
export async function runForecast(relay: Relay, filter: TapFilter, gathering: Gathering): Promise<ForecastResult> {
  const { milliseconds, processes } = gathering;
  const answers = await gather(relay.measure(filter, milliseconds), gathering);
  return {
    instances: { asked: Math.max(processes, answers.length), answered: answers.length },
    answeredBy: answers.map(({ instance }) => instance),
    categories: new Map(filter.categories.map((name) => [name, loadOf(name, answers)])),
  };
}

function loadOf(name: string, answers: readonly Answer<'measured'>[]): CategoryLoad {
  const measured = answers.flatMap(({ seconds, categories }) =>
    Object.hasOwn(categories, name) ? { seconds, ...categories[name]! } : [],
  );
  const sum = (field: 'calls' | 'bytes' | 'dropped') =>
    measured.reduce((total, each) => total + each[field] / each.seconds, 0);
  const counts = measured.flatMap((each) => each.counts ?? []);
  return {
    callsPerSecond: sum('calls'),
    bytesPerSecond: sum('bytes'),
    droppedPerSecond: sum('dropped'),
    counts: counts.length < measured.length ? undefined : sumOfCounts(counts),
  };
}
