import { Mismatch, Skipped, show } from './expectation.ts';
import type { Session } from './session.ts';

/** Compliance level: 1 basic, 2 standard, 3 enterprise. */
export type Level = 1 | 2 | 3;
export type Strength = 'MUST' | 'SHOULD' | 'MAY';

/** One rule of the specification. */
export interface Check {
  /** Stable: a number is never given to another rule. */
  readonly id: string;
  readonly level: Level;
  readonly strength: Strength;
  /** Where the rule stands in the specification. */
  readonly section: string;
  /** The rule, in one sentence. */
  readonly statement: string;
  /** Made only with `--exhaust`: it uses up a rate limit or takes long. */
  readonly exhaust?: boolean;
  /** @throws {Mismatch} when the rule is broken, {@link Skipped} when it cannot be checked here */
  readonly run: (session: Session) => Promise<void>;
}

/** A check as it is written in a list. */
export type Row = readonly [
  id: string,
  strength: Strength,
  statement: string,
  run: (session: Session) => Promise<void>,
];

/** The checks of one section. Ids are written out, so that they stay what they are. */
export function section(
  level: Level,
  name: string,
  rows: readonly Row[],
  more: Pick<Check, 'exhaust'> = {},
): readonly Check[] {
  return rows.map(([id, strength, statement, run]) => ({
    id,
    level,
    strength,
    section: name,
    statement,
    run,
    ...more,
  }));
}

export interface Result extends Omit<Check, 'run'> {
  readonly outcome: 'PASS' | 'FAIL' | 'SKIP';
  readonly expected?: string;
  readonly got?: string;
  /** Why it was skipped. */
  readonly reason?: string;
}

export interface Selection {
  readonly level: Level;
  readonly exhaust: boolean;
  /** Only checks whose id starts with one of these; all when empty. */
  readonly only: readonly string[];
  /** Ends the run before the next check. */
  readonly signal?: AbortSignal;
}

/** Makes the selected checks one after the other: they share the server's state. */
export async function runChecks(
  checks: readonly Check[],
  session: Session,
  selection: Selection,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const check of checks) {
    if (selection.signal?.aborted === true) break;
    if (!isSelected(check, selection.only)) continue;
    results.push(await runCheck(check, session, selection));
  }
  return results;
}

function isSelected(check: Check, only: readonly string[]): boolean {
  return only.length === 0 || only.some((start) => check.id.startsWith(start));
}

async function runCheck(check: Check, session: Session, selection: Selection): Promise<Result> {
  const { run, ...facts } = check;
  const reason = reasonToSkip(check, selection);
  if (reason !== undefined) return { ...facts, outcome: 'SKIP', reason };
  try {
    await run(session);
    return { ...facts, outcome: 'PASS' };
  } catch (error) {
    if (error instanceof Skipped) return { ...facts, outcome: 'SKIP', reason: session.redact(error.message) };
    if (error instanceof Mismatch) {
      return { ...facts, outcome: 'FAIL', expected: session.redact(error.expected), got: session.redact(error.got) };
    }
    return { ...facts, outcome: 'FAIL', expected: 'an answer', got: session.redact(nameFault(error)) };
  }
}

function reasonToSkip(check: Check, { level, exhaust }: Selection): string | undefined {
  if (check.level > level) return `of level ${check.level}; the run is for level ${level}`;
  if (check.exhaust === true && !exhaust) return 'made only with --exhaust';
  return undefined;
}

function nameFault(error: unknown): string {
  if (!(error instanceof Error)) return show(error);
  const code = Reflect.get(error, 'code');
  return typeof code === 'string' && !error.message.includes(code) ? `${code}: ${error.message}` : error.message;
}
