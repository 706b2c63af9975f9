import { type CallCounts, isShownName, MAX_ATTRIBUTE_NAMES } from '../../wire/call-counts.ts';
import type { DebugRecord } from '../../wire/debug-record.ts';
import type { Selection } from '../emit/selection.ts';

/** Most calls of a category whose work is asked for the names of its attributes, in one interval of the timer. */
const MAX_LOOKS = 10;

/** Counts what becomes of the calls of one category in this process. */
export class CallCounter {
  readonly #selection: Selection;
  readonly #attributeNames: () => Iterable<string>;
  #calls = 0;
  #otherTenants = 0;
  #unmatched = 0;
  #outsideWork = 0;
  #filtered = 0;
  #unevaluated = 0;
  #problem: string | undefined;
  readonly #names = new Set<string>();
  #looks = MAX_LOOKS;

  constructor(selection: Selection, attributeNames: () => Iterable<string>) {
    this.#selection = selection;
    this.#attributeNames = attributeNames;
  }

  /** Counts a call that is not taken, before anything of it is built. */
  missed(tenantId: string | undefined): void {
    if (!this.#selection.isOfTenant(tenantId)) {
      this.#otherTenants += 1;
      return;
    }
    this.#calls += 1;
    if (this.#selection.matchesWork) this.#outsideWork += 1;
    else {
      this.#unmatched += 1;
      this.#look();
    }
  }

  /** Counts a call that may be taken. */
  called(): void {
    this.#calls += 1;
  }

  /** @param calls that the line stands for */
  takesLine(line: DebugRecord, calls = 1): boolean {
    const verdict = this.#selection.judge(line);
    if (verdict === true) return true;
    if (verdict === false) this.#filtered += calls;
    else {
      this.#unevaluated += calls;
      this.#problem ??= verdict.problem;
    }
    return false;
  }

  /** Called at intervals. */
  tick(): void {
    this.#looks = MAX_LOOKS;
  }

  get counts(): CallCounts {
    return {
      calls: this.#calls,
      otherTenants: this.#otherTenants,
      unmatched: this.#unmatched,
      outsideWork: this.#outsideWork,
      filtered: this.#filtered,
      unevaluated: this.#unevaluated,
      ...(this.#problem !== undefined && { problem: this.#problem }),
      attributes: [...this.#names],
    };
  }

  #look(): void {
    if (this.#looks === 0 || this.#names.size >= MAX_ATTRIBUTE_NAMES) return;
    this.#looks -= 1;
    for (const name of this.#attributeNames()) {
      if (this.#names.size >= MAX_ATTRIBUTE_NAMES) return;
      if (isShownName(name)) this.#names.add(name);
    }
  }
}
