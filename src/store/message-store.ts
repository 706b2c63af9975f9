/** Longest message, in bytes of UTF-8. */
export const MAX_MESSAGE_BYTES = 1024 * 1024;

/**
 * The part of a shared store that carries short-lived messages between its processes: at most once, in order from each
 * sender, and only to those that listen. Lost messages are not repeated, so senders repeat what matters.
 */
export interface MessageStore {
  /** Identifies this handle as a sender and a receiver. Unique, and new with every handle. */
  readonly address: string;
  /**
   * Sends a message to all other handles, or to the one at an address. Resolves when the store has accepted it, and rejects
   * when the store cannot be reached, or refuses a message longer than 1 MiB of UTF-8.
   */
  send(message: string, to?: string): Promise<void>;
  /**
   * Calls back with every message for this handle, and the address of its sender, which cannot be forged by those who may
   * not write the store's state. A message arrives within a second, or not at all. Returns a function that unsubscribes.
   */
  onMessage(listener: (message: string, from: string) => void): () => void;
}

/** @throws {RangeError} for a message that is too long */
export function assertSendable(message: string): void {
  if (Buffer.byteLength(message) > MAX_MESSAGE_BYTES) {
    throw new RangeError(`a message may have at most ${MAX_MESSAGE_BYTES} bytes`);
  }
}
