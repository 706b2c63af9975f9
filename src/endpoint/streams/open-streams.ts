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
