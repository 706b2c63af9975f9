import type { ForecastResponse } from './streams.ts';
import type { LineFilter, Target, When } from './target.ts';
import { parseDuration } from './time.ts';
import { matchText, partText } from './words/activation.ts';

/** What became of the calls of a category since a tail or a forecast began, so far as they were counted. */
export interface CallCounts {
  /** All calls; those of the tenant, if one is named. */
  readonly calls: number;
  /** Calls that are not of the tenant. Absent for those who may see some tenants alone. */
  readonly otherTenants?: number | undefined;
  /** Calls of work without the attributes of the target. */
  readonly unmatched: number;
  /** Calls outside of work whose end is seen, which `when` needs. */
  readonly outsideWork: number;
  /** Lines that the filter leaves out. */
  readonly filtered: number;
  /** Lines that `filter.where` cannot be evaluated for. */
  readonly unevaluated: number;
  /** Why it cannot, for the first of them, such as `no field user.id`. */
  readonly problem?: string | undefined;
  /** Names of attributes of the work that does not match; values never. */
  readonly attributes: readonly string[];
}

export const MAX_ATTRIBUTE_NAMES = 16;
const ATTRIBUTE_NAME = /^[\w.:/@$-]{1,128}$/;

/** Whether a name may be shown: anybody can fill baggage with names. */
export function isShownName(name: string): boolean {
  return ATTRIBUTE_NAME.test(name);
}

/** @param all of processes, or of categories */
export function sumOfCounts(all: readonly CallCounts[]): CallCounts {
  const sum = (field: 'calls' | 'otherTenants' | 'unmatched' | 'outsideWork' | 'filtered' | 'unevaluated') =>
    all.reduce((total, each) => total + (each[field] ?? 0), 0);
  const problem = all.find((each) => each.problem !== undefined)?.problem;
  return {
    calls: sum('calls'),
    ...(all.some(({ otherTenants }) => otherTenants !== undefined) && { otherTenants: sum('otherTenants') }),
    unmatched: sum('unmatched'),
    outsideWork: sum('outsideWork'),
    filtered: sum('filtered'),
    unevaluated: sum('unevaluated'),
    ...(problem !== undefined && { problem }),
    attributes: [...new Set(all.flatMap(({ attributes }) => attributes))].slice(0, MAX_ATTRIBUTE_NAMES),
  };
}

/** The work and lines that are counted. */
export interface CountedPart {
  readonly tenant?: string | undefined;
  readonly target?: Target | undefined;
  readonly filter?: LineFilter | undefined;
  readonly when?: When | undefined;
}

/** What was counted, for whom, and where. */
export interface Counted extends CountedPart {
  readonly categories: readonly string[];
  /** By category; without calls it may be absent. */
  readonly counts: Readonly<Record<string, CallCounts>>;
  readonly seconds: number;
  /** Processes that have counted, of those that were asked. */
  readonly counted: number;
  readonly asked: number;
}

/** Such as `ORDERS was called 85 times in 10 s; none had user.id=42`. `Not called` is said only where all processes have counted. */
export function describeCalls(given: Counted): string {
  const { categories, seconds, counted, asked, tenant } = given;
  const [only = '', ...others] = categories;
  const several = others.length > 0;
  const counts = sumOfCounts(categories.flatMap((name) => given.counts[name] ?? []));
  const { calls, otherTenants = 0 } = counts;
  const who = tenant === undefined ? '' : ` for tenant ${tenant}`;
  const missing = asked - counted;
  const where = asked > 1 && counted > 0 ? ` in ${missing > 0 ? `${counted} of ` : ''}${asked} processes` : '';
  const when = `${who} in ${Math.max(1, Math.round(seconds))} s${where}`;
  const subject = several ? `${categories.length} categories were` : `${only} was`;
  const unknown = missing > 0 ? `; ${asked === 1 ? 'it' : `${missing} of ${asked} processes`} did not say` : '';
  if (counted <= 0)
    return `how often ${several ? `${categories.length} categories were` : subject} called is not known`;
  if (calls === 0) {
    const not = several ? `none of ${categories.length} categories was called` : `${only} was not called`;
    const elsewhere = otherTenants === 0 ? '' : `, but ${times(otherTenants)} for others`;
    return `${not}${when}${elsewhere}${unknown}`;
  }
  const reasons = reasonsOf(counts, given).map((each) => `; ${each}`);
  return `${subject} called ${times(calls)}${when}${reasons.join('')}${unknown}`;
}

/** Why categories of a forecast would have no line; `undefined` where all would have some, or all calls were measured. */
export function describeSilence(
  { instances, categories, duration }: Pick<ForecastResponse, 'instances' | 'categories' | 'duration'>,
  part: CountedPart,
): string | undefined {
  const silent = Object.entries(categories).flatMap(([name, { callsPerSecond, counts }]) =>
    callsPerSecond.value === 0 && counts !== undefined ? [[name, counts] as const] : [],
  );
  if (silent.length === 0 || Object.values(part).every((value) => value === undefined)) return undefined;
  const counts = Object.fromEntries(silent);
  const { answered: counted, asked } = instances;
  const seconds = parseDuration(duration) ?? 0;
  return describeCalls({ ...part, categories: Object.keys(counts), counts, seconds, counted, asked });
}

/** Where the calls went, the largest part first. */
function reasonsOf(counts: CallCounts, { target, filter, when }: Counted): string[] {
  const { calls, unmatched, outsideWork, filtered, unevaluated, problem, attributes } = counts;
  const match = matchText(target?.match);
  const lines = filter === undefined ? '' : partText({ filter });
  const seen = attributes.length === 0 ? 'their work has no attributes' : `attributes seen: ${attributes.join(', ')}`;
  const rest = when === undefined ? 0 : calls - unmatched - outsideWork - filtered - unevaluated;
  const ended = [
    ...(when?.failed === true ? ['failed'] : []),
    ...(when?.slowerThan === undefined ? [] : [`took ${when.slowerThan}`]),
  ].join(' or ');
  return (
    [
      [target === undefined ? 0 : unmatched, `had ${match}`, `did not have ${match}`, ` (${seen})`],
      [filter === undefined ? 0 : filtered, `passed ${lines}`, `did not pass ${lines}`, ''],
      [rest, `was of work that ${ended}`, `were not of work that ${ended}`, ''],
      [outsideWork, 'was part of work whose end is seen', 'were not part of work whose end is seen', ''],
    ] as const
  )
    .map(([count, none, some, more]) => ({
      count,
      text: `${count >= calls ? `none ${none}` : `${Math.round(count)} ${some}`}${more}`,
    }))
    .concat({ count: unevaluated, text: `${Math.round(unevaluated)} could not be evaluated: ${problem ?? 'unknown'}` })
    .filter(({ count }) => count > 0)
    .sort((one, other) => other.count - one.count)
    .map(({ text }) => text);
}

function times(count: number): string {
  const whole = Math.round(count);
  return whole === 1 ? 'once' : `${whole} times`;
}
