import { type CallCounts, sumOfCounts } from '../../wire/call-counts.ts';
import type { AskedInstances } from '../../wire/streams.ts';
import type { Delay } from '../../wire/time/clock.ts';
import type { Relay } from './relay.ts';
import type { ProcessForecast, TapFilter } from './types.ts';

/** How long the answers may take after the measured time, in milliseconds. */
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

export interface ForecastOptions {
  readonly milliseconds: number;
  /** How many processes there are. */
  readonly processes: number;
  readonly delay: Delay;
  /** Ends it early. */
  readonly signal: AbortSignal;
}

/**
 * Measures in every process of the fleet.
 * @throws the signal's reason when it aborts
 */
export async function runForecast(
  relay: Relay,
  filter: TapFilter,
  { milliseconds, processes, delay, signal }: ForecastOptions,
): Promise<ForecastResult> {
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
  signal.throwIfAborted();
  const measuring = relay.measure(filter, milliseconds);
  try {
    await pause(milliseconds);
    for (let waited = 0; waited < GRACE_MS && measuring.answers.length < processes; waited += LOOK_MS) {
      signal.throwIfAborted();
      await pause(LOOK_MS);
    }
    signal.throwIfAborted();
    const { answers } = measuring;
    return {
      instances: { asked: Math.max(processes, answers.length), answered: answers.length },
      answeredBy: answers.map(({ instance }) => instance),
      categories: new Map(filter.categories.map((name) => [name, loadOf(name, answers)])),
    };
  } finally {
    measuring.end();
  }
}

function loadOf(name: string, answers: readonly ProcessForecast[]): CategoryLoad {
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
