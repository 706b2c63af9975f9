/** Carries out work in the order in which it is asked for, one piece after the other, also behind one that failed. */
export class Serial {
  #last: Promise<unknown> = Promise.resolve();

  /** Settles as the work does, once its turn has come. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }

  /** Resolves when all that was asked for is done. */
  async idle(): Promise<void> {
    await this.#last;
  }
}
