import { DROP, type DropCode } from '../../gate/drops.ts';
import { ANY_LEVEL, LEVEL } from '../../gate/levels.ts';
import type { CategoryDescriptor } from '../../gate/types.ts';
import type { ControlBudget } from '../../wire/messages.ts';
import { type HeldOutput, RECORDED_RATE, type Recorder } from '../recorder/recorder.ts';
import type { Budget } from './budget.ts';
import type { Budgets } from './budgets.ts';
import { type Call, recordOf } from './record.ts';
import { type Matching, type Part, Selection, type SelectionOptions } from './selection.ts';
import { Attached } from './taps.ts';

/** Most calls of an activation that are built in a second to see whether its filter passes the line. */
const MAX_LOOKS = 5000;

/** The part of a category that an activation switches on. */
export interface ActivePart extends Part {
  /** The least urgent level that it lets out (`gate/levels.ts`). @default every line */
  readonly level?: number;
  /** Whether its calls are only recorded, and kept for who asks for the past. */
  readonly record?: boolean;
  /** Its own limits; `false` for none. @default the budget of the category */
  readonly budget?: ControlBudget | false | undefined;
  /** Called once, from inside a debug call, when a total of the budget is used up. */
  readonly exhausted: () => void;
}

export interface ActivationsOptions extends SelectionOptions {
  readonly budgets: Pick<Budgets, 'open' | 'openApart' | 'release' | 'ofCall'>;
  readonly recorder: Pick<Recorder, 'record'>;
  /** Writes a recorded call. */
  readonly write: HeldOutput['write'];
  /** Called after recorded calls of failed work were written. */
  readonly failed: HeldOutput['failed'];
  readonly now: () => number;
}

/** An activation of one category. */
export interface ActiveCategory {
  /** The least urgent level of the lines that belong to it. */
  readonly level: number;
  takesCall(tenantId: string | undefined): boolean;
  /** Whether the line decides, and not the call alone. */
  readonly filtersLines: boolean;
  /** Asked before anything of the call is built. @returns why it is dropped */
  admit(tenantId: string | undefined): DropCode | undefined;
  /** @returns whether the line belongs to it, or why it is dropped */
  admitLine(call: Call): boolean | DropCode;
  spend(call: Call): void;
  /** Lines for which the expression of its filter could not be evaluated. */
  readonly unevaluated: number;
}

const NONE: readonly ActiveCategory[] = [];

/** The activations that are in force in this process. */
export class Activations {
  readonly #options: ActivationsOptions;
  readonly #attached = new Attached<ActiveCategory>();
  /** The same ones by category, found by the work that they are for. */
  readonly #matching = new Map<number, Matching<ActiveCategory>>();
  /** What the lines of recorded work are chosen by. */
  readonly #recording = new Attached<Selection>();

  constructor(options: ActivationsOptions) {
    this.#options = options;
  }

  /** Switches a part of a category on. Returns a function that ends it. */
  begin(category: CategoryDescriptor, part: ActivePart): () => void {
    if (part.when !== undefined || part.record === true) return this.#beginRecording(category, part);
    const { budgets, now } = this.#options;
    const selection = new Selection({ ...part, match: undefined }, this.#options);
    const { filtersLines } = selection;
    const own = part.budget ? budgets.open(category, part.budget, part.exhausted) : undefined;
    const looks = filtersLines ? budgets.open(category, { callsPerSecond: MAX_LOOKS }) : undefined;
    const budgetOf = (tenantId: string | undefined): Budget | undefined =>
      part.budget === undefined ? budgets.ofCall(category, tenantId) : own;
    const active: ActiveCategory = {
      level: part.level ?? ANY_LEVEL,
      filtersLines,
      get unevaluated() {
        return selection.unevaluated;
      },
      takesCall: (tenantId) => selection.takesCall(tenantId),
      admit: (tenantId) => (selection.hasTime ? (looks ?? budgetOf(tenantId))?.admit() : DROP.budget),
      admitLine(call) {
        if (!filtersLines) return true;
        return selection.takesLine(recordOf(call, now())) && (budgetOf(call.tenantId)?.admit() ?? true);
      },
      spend: (call) => budgetOf(call.tenantId)?.spend(call.bytes),
    };
    const remove = this.#add(category, part, active);
    return () => {
      remove();
      selection.end();
      for (const budget of [own, looks]) if (budget !== undefined) budgets.release(budget);
    };
  }

  #beginRecording(category: CategoryDescriptor, part: ActivePart): () => void {
    const { budgets, recorder, write, failed } = this.#options;
    const { level = ANY_LEVEL, tenantId, tenants, when } = part;
    const selection = new Selection(part, this.#options);
    const { filtersLines } = selection;
    const looks = filtersLines ? budgets.open(category, { callsPerSecond: MAX_LOOKS }) : undefined;
    const budget =
      when === undefined || part.budget === false
        ? undefined
        : part.budget === undefined
          ? budgets.openApart(category, RECORDED_RATE)
          : budgets.open(category, part.budget, part.exhausted);
    const stop = recorder.record(category, {
      isWhole: level === ANY_LEVEL && tenantId === undefined && tenants === undefined && !filtersLines && !part.match,
      level,
      isOfTenant: (tenant) => selection.isOfTenant(tenant),
      isOfWork: (surroundings) => selection.matches(surroundings),
      takesLine: filtersLines
        ? (line) => selection.hasTime && looks?.admit() === undefined && selection.takesLine(line)
        : undefined,
      output: when && { when, isLog: true, budget, write, failed },
    });
    const forget = this.#recording.add(category, selection);
    return () => {
      stop();
      forget();
      selection.end();
      for (const each of [budget, looks]) if (each !== undefined) budgets.release(each);
    };
  }

  #add(category: CategoryDescriptor, { match }: ActivePart, active: ActiveCategory): () => void {
    const matching = this.#matching.get(category.index) ?? this.#options.work.matching<ActiveCategory>();
    this.#matching.set(category.index, matching);
    const unmatch = matching.add(match, active);
    const remove = this.#attached.add(category, active);
    return () => {
      remove();
      unmatch();
    };
  }

  /** Those that are for the current work. */
  #of({ index }: CategoryDescriptor): readonly ActiveCategory[] {
    return this.#matching.get(index)?.current() ?? NONE;
  }

  /** The activations that a call of that level may belong to. */
  taking(category: CategoryDescriptor, tenantId: string | undefined, level: number): readonly ActiveCategory[] {
    return this.#of(category).filter((each) => level >= each.level && each.takesCall(tenantId));
  }

  /** Whether a debug call belongs to one, whatever its line is. */
  switchOn(category: CategoryDescriptor, tenantId: string | undefined): boolean {
    const takes = (each: ActiveCategory) => !each.filtersLines && LEVEL.debug >= each.level && each.takesCall(tenantId);
    return this.#of(category).some(takes);
  }

  /** Whether the call may belong to one. */
  want(category: CategoryDescriptor, tenantId: string | undefined): boolean {
    return this.#of(category).some((each) => each.takesCall(tenantId));
  }

  has(index: number): boolean {
    return this.#attached.has(index);
  }

  /** Lines for which the filters in force could not be evaluated. */
  unevaluated(index: number): number {
    const all = [...this.#attached.of({ index }), ...this.#recording.of({ index })];
    return all.reduce((sum, each) => sum + each.unevaluated, 0);
  }

  /** Calls back with every category that has one, and whenever a category gains or loses one. */
  watch(listener: (index: number) => void): () => void {
    return this.#attached.watch(listener);
  }
}
