/** Functions by their keys: `/`, `?`, or two in a row such as `g c`. */
export type Shortcuts = Readonly<Record<string, () => void>>;

/** How long the second key of two is waited for, in milliseconds. */
const SECOND_KEY_MS = 1000;

/** Finds what a key does, with the one before it. */
export class ShortcutKeys {
  #first: { readonly key: string; readonly at: number } | undefined;

  /** @param now in milliseconds, of any clock */
  find(key: string, shortcuts: Shortcuts, now: number): (() => void) | undefined {
    const first = this.#first;
    this.#first = undefined;
    const both = first !== undefined && now - first.at <= SECOND_KEY_MS ? shortcuts[`${first.key} ${key}`] : undefined;
    if (both !== undefined) return both;
    if (Object.keys(shortcuts).some((keys) => keys.startsWith(`${key} `))) this.#first = { key, at: now };
    return shortcuts[key];
  }
}
