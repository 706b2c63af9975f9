import type { Attributes, Described, GatedCategory } from '../gate/types.ts';
import type { AdoptedCategory } from './types.ts';

interface Watcher {
  readonly listener: (wanted: boolean) => void;
  stop: () => void;
}

/** The category of one logger. It can move to another category of the gate, while the source keeps this object. */
export class LoggerCategory implements AdoptedCategory {
  // Plain fields, as in the gate's handle: a source checks `wanted` on every call.
  interest: Uint32Array;
  word: number;
  mask: number;
  /** Whether the logger itself would write debug lines. */
  enabledByDefault = false;
  #gated: GatedCategory;
  readonly #watchers = new Set<Watcher>();
  readonly #defaultChanged: () => void;

  /** @param defaultChanged called when {@link enabledByDefault} changed */
  constructor(gated: GatedCategory, defaultChanged: () => void) {
    this.#gated = gated;
    this.#defaultChanged = defaultChanged;
    this.interest = gated.interest;
    this.word = gated.word;
    this.mask = gated.mask;
  }

  get gated(): GatedCategory {
    return this.#gated;
  }

  get name(): string {
    return this.#gated.name;
  }

  get wanted(): boolean {
    return (this.interest[this.word]! & this.mask) !== 0;
  }

  get enabled(): boolean {
    return this.#gated.enabled;
  }

  debug(message: string, attributes?: Attributes | (() => Attributes)): void {
    this.#gated.debug(message, attributes);
  }

  passes(text: string, describe: () => Described, bytes?: number, admitted?: boolean): boolean {
    return this.#gated.passes(text, describe, bytes, admitted);
  }

  get tapped(): boolean {
    return this.#gated.tapped;
  }

  get decided(): boolean {
    return this.#gated.decided;
  }

  allows(admitted: boolean): boolean {
    return this.#gated.allows(admitted);
  }

  onWanted(listener: (wanted: boolean) => void): () => void {
    const watcher: Watcher = { listener, stop: this.#gated.onWanted(listener) };
    this.#watchers.add(watcher);
    return () => {
      this.#watchers.delete(watcher);
      watcher.stop();
    };
  }

  setDefault(enabled: boolean): void {
    if (this.enabledByDefault === enabled) return;
    this.enabledByDefault = enabled;
    this.#defaultChanged();
  }

  /** Follows another category of the gate from now on. */
  move(gated: GatedCategory): void {
    const before = this.wanted;
    this.#gated = gated;
    this.interest = gated.interest;
    this.word = gated.word;
    this.mask = gated.mask;
    for (const watcher of this.#watchers) {
      watcher.stop();
      watcher.stop = gated.onWanted(watcher.listener);
      if (before && !this.wanted) watcher.listener(false);
    }
  }
}
