import { diagnostics } from '../diagnostics.ts';
import { MAX_MESSAGE_BYTES, type MessageStore } from './message-store.ts';

type Listener = Parameters<MessageStore['onMessage']>[0];

/** The listeners of a handle. One that throws is reported and does not affect the others. */
export class MessageListeners {
  readonly #listeners = new Set<{ readonly listener: Listener }>();

  get size(): number {
    return this.#listeners.size;
  }

  /** Returns a function that unsubscribes. */
  add(listener: Listener): () => void {
    const entry = { listener };
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  hear(message: string, from: string): void {
    for (const { listener } of [...this.#listeners]) {
      try {
        listener(message, from);
      } catch (error) {
        diagnostics.error('rdcp: a listener to messages of the store threw', error);
      }
    }
  }

  clear(): void {
    this.#listeners.clear();
  }
}

/** @throws {RangeError} for a message that is too long */
export function assertSendable(message: string): void {
  if (Buffer.byteLength(message) > MAX_MESSAGE_BYTES) {
    throw new RangeError(`a message may have at most ${MAX_MESSAGE_BYTES} bytes`);
  }
}
