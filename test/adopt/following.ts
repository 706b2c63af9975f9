import type { TestContext } from 'node:test';
import { CHANNELS } from '../../src/adopt/channels/channels.ts';
import { markOwnWork } from '../../src/otel/own-work.ts';
import { adoptionBench } from './bench.ts';

export interface Line {
  readonly message: string;
  readonly [attribute: string]: unknown;
}

/** A process that adopts the channels, and a way to switch their categories. */
export function followChannels(t: TestContext) {
  markOwnWork();
  const bench = adoptionBench(t, [CHANNELS]);
  const { records, turn, turnFor } = bench;
  return {
    ...bench,
    /** Tells that a copy of a library was loaded. */
    loaded: (name: string, version: string) => bench.load(name, version, {}),
    set: (name: string, on: boolean, tenant?: string) =>
      tenant === undefined ? turn(name, on) : turnFor(tenant, name, on),
    /** The lines of a category since it was asked last. */
    lines: (name: string): Line[] => {
      const [mine = [], others = []] = [true, false].map((own) =>
        records.filter(({ category }) => (category === name) === own),
      );
      records.splice(0, Infinity, ...others);
      return mine.map(({ message, attributes }) => ({ message, ...attributes }));
    },
  };
}
