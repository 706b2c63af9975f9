// What became slower or faster from one run of the benchmarks to another, beyond the noise of both.

import { ns, type Report, type Timing, type Verdict } from './measurement.ts';

/** A file of results/. Timings have no rounds there. */
export interface Run {
  readonly date: string;
  readonly commit: string;
  readonly node: string;
  readonly processor: string;
  readonly cores: number;
  readonly reports: Reports;
}

type Reports = Readonly<
  Record<string, { readonly timings: readonly Omit<Timing, 'rounds'>[]; readonly verdicts: Report['verdicts'] }>
>;

export interface Difference {
  readonly what: string;
  readonly change: 'SLOWER' | 'faster' | 'same';
  /** How many times the cost of before. */
  readonly factor: number;
  readonly before: string;
  readonly after: string;
}

interface Range {
  readonly least: number;
  readonly middle: number;
  readonly most: number;
}

/**
 * Compares what both runs measured, in the order of the second. Two figures differ when their spreads do not overlap: the
 * quartiles of a timing, the least and largest value of a verdict.
 */
export function compareRuns(before: Reports, after: Reports): Difference[] {
  return Object.entries(after).flatMap(([subject, { timings, verdicts }]) => [
    ...timings.flatMap((timing) => {
      const earlier = before[subject]?.timings.find(({ name }) => name === timing.name);
      if (earlier === undefined) return [];
      return difference(
        `${subject}: ${timing.name}`,
        timingRange(earlier),
        timingRange(timing),
        ns(earlier.p50),
        ns(timing.p50),
      );
    }),
    ...verdicts.flatMap((verdict) => {
      const earlier = before[subject]?.verdicts.find(
        ({ what, target }) => what === verdict.what && target === verdict.target,
      );
      if (earlier === undefined) return [];
      return difference(
        `${subject}: ${verdict.what}`,
        cost(earlier),
        cost(verdict),
        earlier.measured,
        verdict.measured,
      );
    }),
  ]);
}

function difference(what: string, from: Range, to: Range, before: string, after: string): Difference {
  const change = to.least > from.most ? 'SLOWER' : to.most < from.least ? 'faster' : 'same';
  return { what, change, factor: to.middle / from.middle, before, after };
}

function timingRange({ p25, p50, p75 }: Omit<Timing, 'rounds'>): Range {
  return { least: p25, middle: p50, most: p75 };
}

/** What is to be large, such as a throughput, costs its inverse. */
function cost({ target, value, spread: [least, most] = [value, value] }: Verdict): Range {
  if (!target.startsWith('>=')) return { least, middle: value, most };
  return { least: 1 / most, middle: 1 / value, most: 1 / least };
}

export function formatDifference({ what, change, factor, before, after }: Difference): string {
  const times = Number.isFinite(factor) ? `${factor.toFixed(2)} times` : '';
  return `  ${change.padEnd(8)}${what.padEnd(78)}${times.padEnd(14)}${before} -> ${after}`;
}
