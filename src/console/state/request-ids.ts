import { randomId } from '../../client/random-id.ts';

/** Gives each change an id of its own, and the same one again when it is sent again unchanged, so that it takes effect once. */
export class RequestIds {
  #last: { readonly change: string; readonly id: string } | undefined;

  of(change: string): string {
    if (this.#last?.change !== change) this.#last = { change, id: randomId() };
    return this.#last.id;
  }
}
