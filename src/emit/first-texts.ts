/** Longest prefix of a message that is compared. */
const LOOKED_AT = 256;
/** Texts remembered per second. Further ones count as seen. */
const MAX_TEXTS = 1000;

/**
 * The message texts that passed in this second, so that a rare text is distinguished from one that fills the budget.
 */
export class FirstTexts {
  #texts: Set<string | number> | undefined;
  /** The latest text. It needs no set as long as there is room for every message. */
  #latest: unknown;

  /** Called when there was room for the message. */
  passed(message: unknown): void {
    this.#latest = message;
  }

  /** Whether the text is new in this second; remembers it. */
  isFirst(message: unknown): boolean {
    if (message === this.#latest) return false;
    this.#texts ??= new Set();
    const key = keyOf(message);
    if (this.#texts.has(key) || this.#texts.size >= MAX_TEXTS) return false;
    this.#texts.add(key);
    return true;
  }

  /** Called when a second is over. */
  forget(): void {
    this.#texts = undefined;
    this.#latest = undefined;
  }
}

/** A long message is identified by a hash: a substring would keep the whole message in memory. */
function keyOf(message: unknown): string | number {
  if (typeof message !== 'string') return typeof message;
  if (message.length <= LOOKED_AT) return message;
  let hash = message.length;
  for (let at = 0; at < LOOKED_AT; at++) hash = (Math.imul(hash, 31) + message.charCodeAt(at)) | 0;
  return hash;
}
