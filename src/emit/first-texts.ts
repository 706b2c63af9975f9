/** Of a longer message so much is looked at. */
const LOOKED_AT = 256;
/** Texts of one second that are known. What comes beyond counts as said before. */
const MAX_TEXTS = 1000;

/** Which message texts were let through this second, so that a rare one is known from one that fills the budget. */
export class FirstTexts {
  #texts: Set<string | number> | undefined;
  /** Kept without a set as long as there is room for every message. */
  #latest: unknown;

  /** There was room for it. */
  passed(message: unknown): void {
    this.#latest = message;
  }

  /** Whether nothing is known of this text; it is known from now on. */
  isFirst(message: unknown): boolean {
    if (message === this.#latest) return false;
    this.#texts ??= new Set();
    const key = keyOf(message);
    if (this.#texts.has(key) || this.#texts.size >= MAX_TEXTS) return false;
    this.#texts.add(key);
    return true;
  }

  /** A second is over. */
  forget(): void {
    this.#texts = undefined;
    this.#latest = undefined;
  }
}

/** A long message is known by a hash: a part of it would keep the whole in memory. */
function keyOf(message: unknown): string | number {
  if (typeof message !== 'string') return typeof message;
  if (message.length <= LOOKED_AT) return message;
  let hash = message.length;
  for (let at = 0; at < LOOKED_AT; at++) hash = (Math.imul(hash, 31) + message.charCodeAt(at)) | 0;
  return hash;
}
