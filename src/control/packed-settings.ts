import type { Maker, Overlay, Setting, Settings } from '../store/state-store.ts';
import { settingOf } from './transition.ts';

// A tenant's settings take a kilobyte as a Map, and there may be 100,000 tenants. At rest they are a string with one
// code unit per category, plus the overlays and who made what is permanent. A string is the smallest array in V8: 16 bytes
// and two per unit.

/** Category names by number, shared by all settings that were packed together. */
interface Names {
  readonly numbers: Map<string, number>;
  readonly names: string[];
}

// A code unit holds the category's number above three flag bits.
const ON = 1;
const PERMANENT = 2;
const TEMPORARY = 4;
const SHIFT = 3;
/** How many numbers fit: twice as many as a process has categories. Settings with more are not packed. */
const MAX_NAMES = 1 << (16 - SHIFT);

/**
 * Returns a function that packs settings to save memory. Packed settings are returned unchanged. Overlays keep their
 * identity.
 */
export function createSettingsPacker(): (settings: Settings) => Settings {
  const names: Names = { numbers: new Map(), names: [] };

  function numberOf(name: string): number {
    const known = names.numbers.get(name);
    if (known !== undefined) return known;
    if (names.names.length === MAX_NAMES) return MAX_NAMES;
    names.numbers.set(name, names.names.length);
    return names.names.push(name) - 1;
  }

  return (settings) => {
    if (settings instanceof PackedSettings) return settings;
    const numbered = [...settings].map(([name, setting]) => ({ number: numberOf(name), ...setting }));
    if (numbered.some(({ number }) => number === MAX_NAMES)) return settings;
    numbered.sort((a, b) => a.number - b.number);
    const overlays = numbered.flatMap(({ temporary }) => temporary ?? []);
    const units = String.fromCharCode(...numbered.map(unitOf));
    return new PackedSettings(names, units, overlays, makersOf(numbered));
  };
}

/**
 * Who made what is permanent: by place, or one alone who made all of it, as a command does. A Map of ten takes more than all
 * else of a tenant.
 */
type Makers = Maker | readonly (Maker | undefined)[] | undefined;

function makersOf(settings: readonly Setting[]): Makers {
  const [first, ...others] = new Set(settings.flatMap(({ permanent, by }) => (permanent === undefined ? [] : [by])));
  return others.length === 0 ? first : settings.map(({ by }) => by);
}

function unitOf({ number, permanent, temporary }: Setting & { readonly number: number }): number {
  return (
    (number << SHIFT) |
    (temporary === undefined ? 0 : TEMPORARY) |
    (permanent === undefined ? 0 : PERMANENT) |
    (permanent === true ? ON : 0)
  );
}

class PackedSettings implements Settings {
  readonly #names: Names;
  /** Sorted by number. */
  readonly #units: string;
  /** Overlays of the temporary units, in order; a single overlay is stored without an array. */
  readonly #overlays: Overlay | readonly Overlay[] | undefined;
  readonly #makers: Makers;

  constructor(names: Names, units: string, overlays: readonly Overlay[], makers: Makers) {
    this.#names = names;
    this.#units = units;
    this.#overlays = overlays.length > 1 ? overlays : overlays[0];
    this.#makers = makers;
  }

  get size(): number {
    return this.#units.length;
  }

  get(name: string): Setting | undefined {
    const at = this.#find(this.#names.numbers.get(name));
    return at === -1 ? undefined : this.#settingAt(at);
  }

  has(name: string): boolean {
    return this.#find(this.#names.numbers.get(name)) !== -1;
  }

  #find(number: number | undefined): number {
    if (number === undefined) return -1;
    let low = 0;
    let high = this.#units.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#units.charCodeAt(middle) >>> SHIFT < number) low = middle + 1;
      else high = middle;
    }
    return low < this.#units.length && this.#units.charCodeAt(low) >>> SHIFT === number ? low : -1;
  }

  #settingAt(at: number): Setting | undefined {
    const unit = this.#units.charCodeAt(at);
    const makers = this.#makers;
    return settingOf({
      permanent: (unit & PERMANENT) === 0 ? undefined : (unit & ON) !== 0,
      by: Array.isArray(makers) ? makers[at] : (makers as Maker | undefined),
      temporary: (unit & TEMPORARY) === 0 ? undefined : this.#overlayAt(at),
    });
  }

  #overlayAt(at: number): Overlay | undefined {
    const overlays = this.#overlays;
    if (!Array.isArray(overlays)) return overlays as Overlay | undefined;
    let before = 0;
    for (let index = 0; index < at; index++) before += this.#units.charCodeAt(index) & TEMPORARY;
    return overlays[before / TEMPORARY];
  }

  *entries(): Generator<[string, Setting], undefined> {
    for (let at = 0; at < this.#units.length; at++) {
      const name = this.#names.names[this.#units.charCodeAt(at) >>> SHIFT];
      const setting = this.#settingAt(at);
      if (name !== undefined && setting !== undefined) yield [name, setting];
    }
    return undefined;
  }

  *keys(): Generator<string, undefined> {
    for (const [name] of this.entries()) yield name;
    return undefined;
  }

  *values(): Generator<Setting, undefined> {
    for (const [, setting] of this.entries()) yield setting;
    return undefined;
  }

  [Symbol.iterator](): Generator<[string, Setting], undefined> {
    return this.entries();
  }

  forEach(visit: (value: Setting, key: string, map: Settings) => void, thisArg?: unknown): void {
    for (const [name, setting] of this.entries()) visit.call(thisArg, setting, name, this);
  }
}
