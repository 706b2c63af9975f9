import type { Matching, SelectionOptions } from '../../src/calls/emit/selection.ts';
import { createSink, type EmissionSink, type SinkOptions } from '../../src/calls/emit/sink.ts';
import { parseConfig } from '../../src/options/config.ts';

/** The recorder's options where the owner names none. */
export const RECORDER = parseConfig({}).recorder;

const NO_WORK: SelectionOptions = {
  clock: { monotonic: () => 0 },
  instanceId: '',
  work: {
    matching: <T>(): Matching<T> => {
      const items = new Set<T>();
      return {
        add(match, item) {
          if (match === undefined) items.add(item);
          return () => void items.delete(item);
        },
        current: () => [...items],
        of: () => [...items],
      };
    },
    outcomes: {
      current: () => undefined,
      currentWork: () => undefined,
      latest: () => undefined,
      watch: () => () => {},
    },
  },
  random: Math.random,
};

type GivenOptions = Omit<SinkOptions, 'recorder' | 'selection'> & Partial<Pick<SinkOptions, 'recorder' | 'selection'>>;

/** The sink of a process in which no calls belong to a piece of work, unless the options say which do. */
export function sinkOf({ recorder = RECORDER, selection = NO_WORK, ...options }: GivenOptions): EmissionSink {
  return createSink({ ...options, recorder, selection });
}
