import { createVerifier } from '../../src/trail/verify.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import type { Attempt, Requested, Tailed } from './requests.ts';
import { KEYS } from './schedule.ts';
import { isOn, type Life, type World } from './world.ts';

/** How late a report of a process may be on a busy machine, in milliseconds. */
const LATE_MS = 500;
/** How long after its end a temporary control may be in force, in milliseconds. */
const END_MS = 1000;

export const PROMISES = {
  ends: 'no temporary control outlives its end',
  converged: 'all processes have the same state 5 s after the last fault',
  last: 'a later decision wins',
  answer: 'what happened agrees with the answer',
  once: 'a request has one entry and one answer',
  chain: 'the chains of the trail verify',
  applied: 'success: every living process has applied it',
  named: 'applied, count and names of an answer agree',
  loss: 'a loss of the store is one entry',
  lines: 'lines shown and counted are the lines written',
  ended: 'every process ends by itself with 0',
} as const;
type Promised = keyof typeof PROMISES;

type Decision = ReturnType<typeof decisionOf>;

const clock = (at: number) => new Date(at).toISOString().slice(14, 23);

function text({ id, key, operation: { action, seconds }, attempts }: Decision): string {
  const answers = attempts.map(
    ({ life, start, end, outcome }) => `${life.slot} ${outcome} ${clock(start)}-${clock(end)}`,
  );
  return `${action} ${KEYS[key]?.category} ${seconds ?? 'for good'} ${id.slice(0, 8)} [${answers}]`;
}

/** A request as one event: from when to when it may have taken effect, and whether it did. @param rest when the storm was over */
function decisionOf(requested: Requested, rest: number) {
  const { operation, attempts } = requested;
  const done = attempts.filter(({ outcome }) => outcome === 'ok' || outcome === 'local');
  // What one process has alone dies with it.
  const kept = done.some(({ outcome, life }) => outcome === 'ok' || life.to > rest);
  const isUnknown = attempts.some(({ outcome }) => outcome === 'unknown' || outcome === 'wrong');
  // A repeat is carried out anew where the store has lost the first answer, or never had it.
  const carriedOut = done.filter(({ isReplay }) => !isReplay).at(-1) ?? done[0];
  const to = carriedOut?.end ?? (isUnknown ? rest : (attempts.at(-1)?.end ?? rest));
  // Of a request that was repeated at a process that is cut off, each process has an end of its own.
  const stated = done.map(({ answer }) => Date.parse(answer?.changes[0]?.expiresAt ?? '')).filter((at) => at > 0);
  return {
    ...requested,
    key: operation.key,
    from: attempts[0]?.start ?? rest,
    to,
    happened: kept
      ? 'certainly'
      : done.length > 0 || isUnknown
        ? 'perhaps'
        : ('not' as 'certainly' | 'perhaps' | 'not'),
    local: done.some(({ outcome }) => outcome === 'local'),
    enables: operation.action === 'enable',
    /** When it ends by itself. */
    ends:
      operation.seconds === undefined
        ? Number.POSITIVE_INFINITY
        : stated.length > 0
          ? Math.max(...stated)
          : to + operation.seconds * 1000,
  };
}

/** Checks what the fleet has promised, and keeps what broke it. */
export class Judge {
  readonly #world: World;
  readonly #decisions: Decision[] = [];
  readonly judged = new Map<Promised, number>();
  readonly violations: { readonly promise: Promised; readonly what: string }[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  check(promise: Promised, holds: boolean, what: () => string): void {
    this.judged.set(promise, (this.judged.get(promise) ?? 0) + 1);
    if (!holds) this.violations.push({ promise, what: what() });
  }

  /** @param began when the round did; @param rest when its last fault was over; @param trail oldest entry first */
  round(requests: readonly Requested[], began: number, rest: number, trail: readonly AuditEntry[]): void {
    const decisions = requests.map((requested) => decisionOf(requested, rest));
    this.#decisions.push(...decisions);
    const losses = this.#world.losses.filter((at) => at >= began);
    for (const decision of decisions) {
      // What was on its way when the store lost everything is lost with it, or not.
      if (!losses.some((at) => decision.from <= at + (decision.local ? 10_000 : 0))) this.#entries(decision, trail);
      for (const attempt of decision.attempts) this.#fleet(decision, attempt);
    }
    for (const key of KEYS.keys()) this.#last(key, Date.now());
    const resets = trail.filter((entry) => entry.action === 'state_reset' && Date.parse(entry.timestamp) >= began);
    if (losses.length > 0) this.check('loss', resets.length === losses.length, () => `${resets.length} entries`);
    if (this.#world.losses.length > 0) return;
    const verifier = createVerifier({ now: Date.now() });
    for (const entry of trail.toReversed()) verifier.see(entry);
    const { faults, cut, lost, first } = verifier.finish();
    this.check('chain', faults + cut.length + lost.length === 0, () => `${faults} faults, ${first?.message}`);
  }

  #entries(decision: Decision, trail: readonly AuditEntry[]): void {
    const { id, happened, attempts } = decision;
    const entries = trail.filter((entry) => entry.requestId === id && /success|partial/.test(entry.outcome));
    const say = () => `${text(decision)}: ${entries.map(({ action, outcome }) => `${action} ${outcome}`)}`;
    const agrees = happened === 'perhaps' || entries.length > 0 === (happened === 'certainly');
    this.check('answer', agrees && attempts.every(({ outcome }) => outcome !== 'wrong'), say);
    const ok = attempts.filter(({ outcome }) => outcome === 'ok');
    const answers = new Set(ok.map(({ answer }) => JSON.stringify([answer?.timestamp, answer?.changes])));
    // A process that is cut off cannot know what became of the request elsewhere: the trail then has both.
    const locals = attempts.filter(({ outcome }) => outcome === 'local').length;
    const most = locals + Number(attempts.length > locals);
    this.check('once', answers.size <= 1 && entries.length <= most, say);
  }

  /** What an answer says of the fleet. */
  #fleet(decision: Decision, { outcome, answer, start, end, isReplay }: Attempt): void {
    const { key, enables, ends } = decision;
    if (outcome !== 'ok' || answer?.otelrdcp_fleet === undefined || isReplay) return;
    const { applied, instances, pending } = answer.otelrdcp_fleet;
    const say = () => `${text(decision)}: ${applied} of ${instances}, ${pending.length} named`;
    this.check('named', pending.length === instances - applied, say);
    const until = end + LATE_MS;
    const meanwhile = this.#decisions.some(
      (other) =>
        other.id !== decision.id &&
        other.key === key &&
        other.happened !== 'not' &&
        ((other.to + LATE_MS > start && other.from < until) || (other.ends > start - END_MS && other.ends < until)),
    );
    // The list of processes is lost with the rest, so that nobody knows of one that is cut off at that time.
    const lost = this.#world.losses.some((at) => Math.abs(at - start) < 10_000);
    if (answer.status !== 'success' || meanwhile || lost || ends < until) return;
    const reports = ({ from, to, starved }: Life) =>
      from < start && to > until && !starved.some((gap) => gap.from < until && gap.to > end);
    const alive = this.#world.lives.filter(reports);
    const not = alive.filter((life) => isOn(life, key, until) !== enables).map(({ slot }) => slot);
    this.check('applied', not.length === 0, () => `${say()}, not by ${not}`);
  }

  /** The state at rest is that of a decision after which nobody has certainly decided otherwise. */
  #last(key: number, now: number): void {
    const loss = Math.max(0, ...this.#world.losses);
    const all = this.#decisions.filter((each) => each.key === key && each.happened !== 'not' && each.to >= loss);
    // What was on its way when the store lost everything is lost with it, or not.
    const isCertain = ({ happened, from }: Decision) => happened === 'certainly' && from > loss;
    const lastOf = (some: readonly Decision[]) =>
      some.filter((one) => !some.some((other) => isCertain(other) && other.from > one.to));
    const last = lastOf(all);
    // One that ends about now, or has ended before its process could put it into the store, may be seen or not; so may a local
    // one from before the store lost everything.
    if (last.some(({ ends, local }) => Math.abs(ends - now) < 2000 || (local && ends < now))) return;
    if (!all.some(isCertain) && this.#decisions.some((each) => each.key === key && each.local && each.from < loss))
      return;
    const lasting = all.filter(({ operation }) => operation.seconds === undefined);
    const under = lastOf(lasting).map(({ enables }) => enables);
    if (!lasting.some(isCertain)) under.push(false);
    const possible = last.flatMap(({ ends, enables }) => (ends > now ? enables : under));
    if (!all.some(isCertain)) possible.push(false);
    const states = this.#world.living().map((life) => isOn(life, key, now));
    const lost = loss === 0 ? '' : `; the store lost all at ${clock(loss)}`;
    const say = () => `${KEYS[key]?.category} is ${states} at ${clock(now)} after ${last.map(text).join('; ')}${lost}`;
    this.check(
      'last',
      states.every((state) => possible.includes(state)),
      say,
    );
  }

  tail({ life, start, end, whole, dropped, shown }: Tailed): void {
    if (!whole) return;
    let missing = 0;
    let around = 0;
    let twice = 0;
    for (const { from, to, process } of this.#world.lives) {
      if (from > end || to < start) continue;
      const lines = shown.get(process.pid) ?? [];
      const numbers = new Set(lines.map(({ n }) => n));
      twice += lines.length - numbers.size;
      if (numbers.size > 0) missing += Math.max(...numbers) - Math.min(...numbers) + 1 - numbers.size;
      // Before its first line and after its last one.
      const seen = (lines.at(-1)?.at ?? 0) - (lines[0]?.at ?? 0);
      around += Math.ceil((Math.min(end, to) - Math.max(start, from) - seen) / 20) + 20;
    }
    const holds = twice === 0 && missing <= dropped && dropped <= missing + around;
    const when = `tail of ${life.slot} from ${clock(start)} to ${clock(end)}`;
    this.check(
      'lines',
      holds,
      () => `${when}: ${missing} missing, ${dropped} counted (${around} around), ${twice} twice`,
    );
  }

  /** How long categories were on that are switched on only for a while. */
  ends(): void {
    for (const [key, { short, category }] of KEYS.entries()) {
      const enabled = this.#decisions.filter((each) => each.key === key && each.happened !== 'not' && each.enables);
      for (const life of short ? this.#world.lives : []) {
        for (const on of onSpans(life, key)) {
          const before = enabled.filter(({ from }) => from <= on.to).toSorted((one, other) => one.ends - other.ends);
          const end = (before.at(-1)?.ends ?? 0) + END_MS;
          // A stopped process ends it when it runs again; so does one that has to wait for a busy machine.
          const stop = [...life.stopped, ...life.starved].findLast(({ from, to }) => from <= end && to + END_MS >= end);
          const say = () =>
            `${category} in ${life.slot} on until ${clock(on.to)} instead of ${clock(end - END_MS)} after ${before.slice(-2).map(text).join('; ')}`;
          this.check('ends', on.to <= Math.max(end, (stop?.to ?? 0) + END_MS), say);
        }
      }
    }
  }
}

function onSpans({ reports, to }: Life, key: number): { readonly from: number; readonly to: number }[] {
  const last = { at: Math.min(to, Date.now()), states: '' };
  return [...reports, last].flatMap(({ at, states }, index) => {
    const before = reports[index - 1];
    return before?.states[key] === '1' && states[key] !== '1' ? { from: before.at, to: at } : [];
  });
}
