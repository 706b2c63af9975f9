import type { ArgumentRedaction } from '../calls/emit/arguments.ts';
import { LEVEL } from '../gate/levels.ts';
import type { Attributes, GatedCategory } from '../gate/types.ts';
import { callerOfLogger } from './calling-package.ts';
import { type Front, inFront } from './front.ts';
import type { LoggerCall, LoggerLine, Verdict } from './verdict.ts';

/** Most looks at who calls a logger that a package has made. They become rarer, and reach about 20,000 calls. */
const MAX_LOOKS = 40;

type Listener = (wanted: boolean) => void;

interface AdoptedCategoryOptions {
  readonly gated: GatedCategory;
  readonly redaction: ArgumentRedaction;
  /** Whether the logger itself writes debug lines: of those in its category it alone is on then. */
  readonly enabledByDefault: boolean;
  /** The package that made the logger. @default the application's own code */
  readonly maker: string | undefined;
  /** Whether guards are open while a category is only recorded: the option `recorder.guards`. */
  readonly guards: () => boolean;
}

/**
 * The category of one logger. The same name gives the same object, which moves to another category of the gate where a logger
 * with the better claim to its name comes later.
 */
export class AdoptedCategory {
  /** For the arguments of lines that are written because the category is on, and of those that taps get. */
  readonly redaction: ArgumentRedaction;
  readonly #guards: () => boolean;
  /** Whether the logger itself writes debug lines, and its category is not switched. */
  #onByItself = false;
  #package: string | undefined;
  #calls = 0;
  #nextLook = 1;
  #looksLeft = MAX_LOOKS;
  /** Whether {@link wanted} is more than a bit test: while the logger is on by itself, or its callers are looked at. */
  #attends = false;
  #enabledByDefault: boolean;
  #gated: GatedCategory;
  /** What listeners were told last. */
  #reported = { wanted: false, opensGuards: false, leastLevel: 0 };
  #stop = () => {};
  readonly #listeners = new Set<Listener>();

  constructor({ gated, redaction, enabledByDefault, maker, guards }: AdoptedCategoryOptions) {
    this.redaction = redaction;
    this.#guards = guards;
    this.#gated = gated;
    this.#enabledByDefault = enabledByDefault;
    this.#package = maker;
    this.move(gated);
  }

  /** The package that made the logger, until the application's own code is seen to make or call it. */
  get package(): string | undefined {
    return this.#package;
  }

  /** Notes a call, in case that the logger was made by a package. {@link wanted} does so as well. */
  called(): void {
    if (this.#package === undefined || this.#looksLeft === 0) return;
    this.#calls += 1;
    if (this.#calls < this.#nextLook) return;
    this.#nextLook += 1 + (this.#calls >> 2);
    this.#looksLeft -= 1;
    const caller = callerOfLogger();
    if (caller !== undefined && caller.package === undefined) this.#package = undefined;
    this.#attend();
  }

  get enabledByDefault(): boolean {
    return this.#enabledByDefault;
  }

  get gated(): GatedCategory {
    return this.#gated;
  }

  get name(): string {
    return this.#gated.name;
  }

  /** Whether any call could be wanted now. */
  get wanted(): boolean {
    return this.#gated.wanted || (this.#attends && this.#attended());
  }

  /** Whether guards of the logger, such as `debug.enabled`, are true. */
  get opensGuards(): boolean {
    return this.#onByItself || (this.#gated.wanted && (!this.#gated.onlyRecorded || this.#guards()));
  }

  get enabled(): boolean {
    return this.#gated.enabled || (this.#onByItself && !this.#gated.decided);
  }

  /** Whether a control, a setting or the configuration decides here and now, and not the logger's own level. */
  get decided(): boolean {
    return this.#gated.decided;
  }

  /** The least urgent level of the control in force; 0 for every line. */
  get level(): number {
    return this.#gated.level;
  }

  /** Whether calls are described for taps or the recorder although no output may write them. */
  get observed(): boolean {
    return this.#gated.tapped || this.#gated.recorded;
  }

  /** A line for our own outputs. */
  debug(message: string, attributes?: Attributes | (() => Attributes)): void {
    this.#gated.debug(message, attributes);
  }

  /** The same for a line that is described where an output or a tap takes it. */
  write(line: LoggerLine): void {
    if (this.#gated.onlyRecorded) {
      this.#gated.record(line, line.level ?? LEVEL.debug);
      return;
    }
    const described = line.describe(line.given ?? []);
    if (described !== undefined) this.#gated.debug(described.message, described.attributes);
  }

  /** Whether a line that the logger's own level admits is not written here and now, because a control has a higher level. */
  holdsBack(level: number): boolean {
    return this.#gated.wanted && this.#gated.level > level;
  }

  /** What a guard of the logger, such as `isLevelEnabled`, answers. @param admitted what it answers without us */
  guard({ level, isDebug, admitted }: Pick<LoggerCall, 'level' | 'isDebug'> & { readonly admitted: boolean }): boolean {
    return admitted && !isDebug ? !this.holdsBack(level) : this.#gated.allows(admitted, level);
  }

  /** No call is wanted, and no logger in front passes one on. Allocates nothing: ask it before {@link judge}. */
  get idle(): boolean {
    return !this.wanted && inFront() === undefined;
  }

  /** Decides a call of the logger. Counts it, and gives it to taps and the recorder. */
  judge(call: LoggerCall): Verdict {
    const front = inFront();
    if (front?.isDecided) {
      if (call.reach === 'withheld' && front.letsOut()) return 'forced';
      return call.isDebug && this.decided ? 'masked' : 'native';
    }
    if (!call.isDebug) return this.#judgeOrdinary(call, front);
    const { decided } = this.#gated;
    const held = decided ? 'drop' : 'native';
    if (!this.wanted) return held;
    const { reach } = call;
    if (reach === 'withheld' && this.#gated.onlyRecorded) {
      if (front?.isRecorded !== true) this.#gated.record(call, call.level);
      return held;
    }
    // A line that no output takes is no call.
    const counts = reach !== 'nowhere' || !decided || this.observed;
    if (counts && !this.#passesBehind(call, front)) return held;
    if (reach === 'withheld' || reach === 'unknown') return 'forced';
    return decided ? 'masked' : 'native';
  }

  /** Lines of INFO and above are forced where the logger holds them back, and dropped only where a control has a higher level. */
  #judgeOrdinary(call: LoggerCall, front: Front | undefined): Verdict {
    const otherwise = this.holdsBack(call.level) ? 'drop' : 'native';
    if (this.idle || call.reach !== 'withheld') return otherwise;
    return front?.letsOut() || this.#passesBehind(call, front) ? 'forced' : otherwise;
  }

  /** Whether the category lets the line out. Counts it, and gives it to taps and the recorder. */
  passes(line: LoggerLine): boolean {
    return this.#gated.passes(line, line.reach && line.reach === 'open', line.level);
  }

  /** The same for a line that the logger in front may have recorded. */
  #passesBehind(call: LoggerCall, front: Front | undefined): boolean {
    return this.passes(front?.isRecorded ? { ...call, isRecorded: true } : call);
  }

  /** Calls back with {@link wanted} when that, {@link opensGuards} or the least level changes, and at once where it is true. */
  onWanted(listener: Listener): () => void {
    const own: Listener = (wanted) => listener(wanted);
    this.#listeners.add(own);
    if (this.#reported.wanted) own(true);
    return () => {
      this.#listeners.delete(own);
    };
  }

  /** Calls `begin` whenever the category becomes {@link wanted}, and again after each change. Returns a function that ends it. */
  whileWanted(begin: () => () => void): () => void {
    let end = () => {};
    const stop = this.onWanted((wanted) => {
      end();
      end = wanted ? begin() : () => {};
    });
    return () => {
      stop();
      end();
    };
  }

  /** Changes whether the logger itself writes debug lines. */
  setDefault(enabled: boolean): void {
    this.#enabledByDefault = enabled;
    this.#check();
  }

  /** Follows another category of the gate from now on. */
  move(gated: GatedCategory): void {
    this.#stop();
    this.#gated = gated;
    this.#stop = gated.onWanted(() => this.#check());
    this.#check();
  }

  #attended(): boolean {
    this.called();
    return this.#onByItself;
  }

  #attend(): void {
    this.#attends = this.#onByItself || (this.#package !== undefined && this.#looksLeft > 0);
  }

  /** Called when a control begins or ceases to decide, or what the logger itself does changes. */
  #check(): void {
    this.#onByItself = this.#enabledByDefault && !this.#gated.settled;
    this.#attend();
    const { opensGuards } = this;
    const { leastLevel } = this.#gated;
    const wanted = this.#gated.wanted || this.#onByItself;
    const last = this.#reported;
    if (last.wanted === wanted && last.opensGuards === opensGuards && last.leastLevel === leastLevel) return;
    this.#reported = { wanted, opensGuards, leastLevel };
    for (const listener of this.#listeners) listener(wanted);
  }
}
