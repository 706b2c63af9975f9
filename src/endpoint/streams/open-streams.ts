import { REFUSALS } from '../../wire/refusals.ts';
import type { Answer, Context } from '../steps.ts';

/** Event streams in progress. They end when the server closes, which waits for answers otherwise. */
export class OpenStreams {
  readonly #ends = new Set<() => void>();
  #closed = false;

  /** @param end called once, at once if the server has closed already. @returns a function that removes it */
  add(end: () => void): () => void {
    if (this.#closed) end();
    else this.#ends.add(end);
    return () => this.#ends.delete(end);
  }

  close(): void {
    this.#closed = true;
    for (const end of [...this.#ends]) end();
    this.#ends.clear();
  }
}

/**
 * Runs work that its client waits for, and aborts it once the client leaves or the server closes.
 * @returns an empty answer to a client that has left
 */
export async function whileConnected(
  { res }: Context,
  streams: OpenStreams,
  work: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const over = new AbortController();
  const left = () => over.abort();
  res.once('close', left);
  const remove = streams.add(() => over.abort(REFUSALS.closing()));
  try {
    return await work(over.signal);
  } catch (error) {
    if (res.destroyed) return { body: {} };
    throw error;
  } finally {
    res.off('close', left);
    remove();
  }
}
