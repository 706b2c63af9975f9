import type { Matching, SelectionOptions } from '../../src/calls/emit/selection.ts';
import { createSink, type EmissionSink, type SinkOptions } from '../../src/calls/emit/sink.ts';
import { parseConfig } from '../../src/options/config.ts';
import { createTelemetry } from '../../src/otel/telemetry.ts';

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

/** The sink of a process in 1970 in which no calls belong to a piece of work, unless the options say which do. */
export function sinkOf(options: Partial<SinkOptions>): EmissionSink {
  return createSink({
    ...{ telemetry: createTelemetry(), clock: { now: () => 0 }, recorder: RECORDER, selection: NO_WORK },
    ...options,
  });
}
