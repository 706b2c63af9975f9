import type { ArgumentRedaction } from '../emit/arguments.ts';
import type { Attributes, Described, GatedCategory } from '../gate/types.ts';
import type { AdoptedCategory } from './types.ts';

type Listener = (wanted: boolean) => void;

/** The category of one logger. It can move to another category of the gate, while the source keeps this object. */
export class LoggerCategory implements AdoptedCategory {
  readonly redaction: ArgumentRedaction;
  /** Whether the logger itself writes debug lines, and its category is not switched. */
  onByItself = false;
  #enabledByDefault: boolean;
  #gated: GatedCategory;
  #wanted = false;
  #leastLevel = 0;
  #stop = () => {};
  readonly #listeners = new Set<Listener>();

  /** @param enabledByDefault whether the logger itself writes debug lines: of those in its category it alone is on then */
  constructor(gated: GatedCategory, redaction: ArgumentRedaction, enabledByDefault: boolean) {
    this.redaction = redaction;
    this.#gated = gated;
    this.#enabledByDefault = enabledByDefault;
    this.move(gated);
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
    return this.#gated.wanted || this.onByItself;
  }

  get enabled(): boolean {
    return this.#gated.enabled || (this.onByItself && !this.#gated.decided);
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

  /** Called when a control begins or ceases to decide, or what the logger itself does changes. */
  #check(): void {
    this.onByItself = this.#enabledByDefault && !this.#gated.settled;
    const { wanted, leastLevel } = this;
    if (this.#wanted === wanted && this.#leastLevel === leastLevel) return;
    this.#wanted = wanted;
    this.#leastLevel = leastLevel;
    for (const listener of this.#listeners) listener(wanted);
  }
}
