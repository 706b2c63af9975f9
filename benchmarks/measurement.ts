import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { measure } from 'mitata';

/**
 * How often everything is measured over again, so that a neighbour on the machine does not hit one candidate alone. A
 * round before these is thrown away: what V8 has learnt from all candidates then holds for each of them, as in a
 * service, and not for the first one less than for the last.
 */
const ROUNDS = 5;
const NANOSECONDS_PER_MEASUREMENT = 60e6;

/** Runs a measurement in its surroundings, such as an async context. */
export type Surroundings = <T>(run: () => T) => T;

export interface Candidate {
  readonly name: string;
  /**
   * One call of what is measured. mitata compiles a loop of its own around each, four calls to a turn and 4,096 to a
   * sample; V8 inlines the call. An empty function gives the cost of that loop.
   */
  readonly call: () => void;
  /** How many calls `call` makes, where it has a loop of its own. @default 1 */
  readonly calls?: number;
  readonly within?: Surroundings;
}

/** Nanoseconds per call, the loop included: the median of the rounds' medians, and the quartiles furthest from it. */
export interface Timing {
  readonly name: string;
  readonly p25: number;
  readonly p50: number;
  readonly p75: number;
  /** The median of each round. */
  readonly rounds: readonly number[];
}

/** One line of the table of targets. */
export interface Verdict {
  readonly what: string;
  readonly target: string;
  readonly measured: string;
  readonly met: boolean;
  /** What was measured as a number, by which the middle one of several processes is found. */
  readonly value: number;
  /** The least and the largest value of several processes. */
  readonly spread?: readonly [number, number];
}

/** What a file of this folder finds out. */
export interface Report {
  readonly timings: readonly Timing[];
  readonly verdicts: readonly Verdict[];
}

export async function time(candidates: readonly Candidate[]): Promise<Timing[]> {
  const rounds = new Map<string, Omit<Timing, 'rounds'>[]>(candidates.map(({ name }) => [name, []]));
  for (const candidate of candidates) await once(candidate);
  for (let round = 0; round < ROUNDS; round++) {
    for (const candidate of candidates) rounds.get(candidate.name)!.push(await once(candidate));
  }
  return [...rounds].map(([name, timings]) => ({
    name,
    p25: Math.min(...timings.map(({ p25 }) => p25)),
    p50: median(timings.map(({ p50 }) => p50)),
    p75: Math.max(...timings.map(({ p75 }) => p75)),
    rounds: timings.map(({ p50 }) => p50),
  }));
}

async function once({ name, call, calls = 1, within = (run) => run() }: Candidate): Promise<Omit<Timing, 'rounds'>> {
  const { p25, p50, p75 } = await within(() => measure(call, { min_cpu_time: NANOSECONDS_PER_MEASUREMENT }));
  return { name, p25: p25 / calls, p50: p50 / calls, p75: p75 / calls };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >>> 1] ?? Number.NaN;
}

/** The median of what a round says: two candidates of one round saw the same machine. */
export function compare(
  timings: readonly Timing[],
  names: readonly string[],
  judge: (...nanoseconds: number[]) => number,
): number {
  const compared = names.map((name) => {
    const timing = timings.find((candidate) => candidate.name === name);
    if (timing === undefined) throw new Error(`nothing was measured under the name ${name}`);
    return timing.rounds;
  });
  return median(Array.from({ length: ROUNDS }, (_, round) => judge(...compared.map((rounds) => rounds[round]!))));
}

export function ratio(timings: readonly Timing[], name: string, beside: string): number {
  return compare(timings, [name, beside], (one, other) => one / other);
}

export function ns(value: number): string {
  return value < 10_000 ? `${value.toFixed(2)} ns` : `${(value / 1000).toFixed(1)} µs`;
}

export function verdict(what: string, target: string, measured: string, met: boolean, value: number): Verdict {
  return { what, target, measured, met, value };
}

/** A file of the built package. The types come from its source, because there may be no build when they are checked. */
export function built(file: string): string {
  return pathToFileURL(join(import.meta.dirname, '..', 'dist', file)).href;
}

/** What no entry of the package exports, built in the same way: `npm run build:benchmarks`. */
export function internals(): Promise<typeof import('./internals.ts')> {
  return import(new URL('built/internals.js', import.meta.url).href);
}

/** One report of those of several processes: the timings of all rounds, and each verdict that is the middle one. */
export function combine(reports: readonly Report[]): Report {
  const [first] = reports;
  if (first === undefined) throw new Error('there is no report');
  return {
    timings: first.timings.map(({ name }, at) => {
      const timings = reports.map((report) => report.timings[at]!);
      return {
        name,
        p25: Math.min(...timings.map(({ p25 }) => p25)),
        p50: median(timings.map(({ p50 }) => p50)),
        p75: Math.max(...timings.map(({ p75 }) => p75)),
        rounds: timings.flatMap(({ rounds }) => rounds),
      };
    }),
    verdicts: first.verdicts.map((_, at) => {
      const sorted = reports.map((report) => report.verdicts[at]!).sort((a, b) => a.value - b.value);
      const middle = sorted[sorted.length >>> 1]!;
      const others = `${sorted[0]!.measured} … ${sorted.at(-1)!.measured}`;
      const spread = [sorted[0]!.value, sorted.at(-1)!.value] as const;
      return reports.length === 1 ? middle : { ...middle, measured: `${middle.measured} (${others})`, spread };
    }),
  };
}

/** Hands the report to main.ts, or prints it when the file was run by itself. */
export function publish(report: Report): void {
  if (process.send !== undefined) process.send(report);
  else console.log(formatReport(report));
}

export function formatReport({ timings, verdicts }: Report): string {
  const lines = timings.map(
    ({ name, p25, p50, p75 }) => `  ${name.padEnd(66)}${ns(p50).padStart(12)}   (${ns(p25)} … ${ns(p75)})`,
  );
  return [...lines, ...verdicts.map(formatVerdict)].join('\n');
}

export function formatVerdict({ what, target, measured, met }: Verdict): string {
  return `  ${(met ? 'met' : 'MISSED').padEnd(8)}${what.padEnd(78)}${target.padEnd(34)}${measured}`;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** The timing of single measurements, in milliseconds. */
export function timing(name: string, milliseconds: readonly number[]): Timing {
  const at = (share: number) => percentile(milliseconds, share) * 1e6;
  return { name, p25: at(0.25), p50: at(0.5), p75: at(0.75), rounds: [at(0.5)] };
}
