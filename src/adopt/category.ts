import type { ArgumentRedaction } from '../calls/emit/arguments.ts';
import type { Attributes, Described, GatedCategory, Given } from '../gate/types.ts';
import { callerOfLogger } from './calling-package.ts';
import type { AdoptedCategory } from './types.ts';

/** Most looks at who calls a logger that a package has made. They become rarer, and reach about 20,000 calls. */
const MAX_LOOKS = 40;

type Listener = (wanted: boolean) => void;

/** The category of one logger. It can move to another category of the gate, while the source keeps this object. */
export class LoggerCategory implements AdoptedCategory {
  readonly redaction: ArgumentRedaction;
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
  #wanted = false;
  #leastLevel = 0;
  #stop = () => {};
  readonly #listeners = new Set<Listener>();

  /**
   * @param enabledByDefault whether the logger itself writes debug lines: of those in its category it alone is on then
   * @param maker the package that made the logger. @default the application's own code
   */
  constructor(gated: GatedCategory, redaction: ArgumentRedaction, enabledByDefault: boolean, maker?: string) {
    this.redaction = redaction;
    this.#gated = gated;
    this.#enabledByDefault = enabledByDefault;
    this.#package = maker;
    this.move(gated);
  }

  /** The package that made the logger, until the application's own code is seen to make or call it. */
  get package(): string | undefined {
    return this.#package;
  }

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

  get wanted(): boolean {
    return this.#gated.wanted || (this.#attends && this.#attended());
  }

  get enabled(): boolean {
    return this.#gated.enabled || (this.#onByItself && !this.#gated.decided);
  }

  debug(message: string, attributes?: Attributes | (() => Attributes)): void {
    this.#gated.debug(message, attributes);
  }

  fail(error: unknown): void {
    this.#gated.fail(error);
  }

  passes(bytes: number, describe: () => Described | undefined, admitted?: boolean, level?: number): boolean {
    return this.#gated.passes(bytes, describe, admitted, level);
  }

  holdsBack(level: number): boolean {
    return this.#gated.wanted && this.#gated.level > level;
  }

  get level(): number {
    return this.#gated.level;
  }

  get leastLevel(): number {
    return this.#gated.leastLevel;
  }

  get tapped(): boolean {
    return this.#gated.tapped;
  }

  get recorded(): boolean {
    return this.#gated.recorded;
  }

  get onlyRecorded(): boolean {
    return this.#gated.onlyRecorded;
  }

  record(message: string, attributes: Given, level: number): void {
    this.#gated.record(message, attributes, level);
  }

  get decided(): boolean {
    return this.#gated.decided;
  }

  allows(admitted: boolean, level?: number): boolean {
    return this.#gated.allows(admitted, level);
  }

  onWanted(listener: Listener): () => void {
    const own: Listener = (wanted) => listener(wanted);
    this.#listeners.add(own);
    if (this.#wanted) own(true);
    return () => {
      this.#listeners.delete(own);
    };
  }

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
    const { leastLevel } = this;
    const wanted = this.#gated.wanted || this.#onByItself;
    if (this.#wanted === wanted && this.#leastLevel === leastLevel) return;
    this.#wanted = wanted;
    this.#leastLevel = leastLevel;
    for (const listener of this.#listeners) listener(wanted);
  }
}
