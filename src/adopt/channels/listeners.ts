import type { EventEmitter } from 'node:events';

type Listener = (...given: never[]) => void;

/** Listeners on objects of the application, which can all be taken off again. */
export class Listeners {
  readonly #added = new Map<EventEmitter, [event: string, listener: Listener][]>();

  once(emitter: EventEmitter, event: string, listener: Listener): void {
    emitter.once(event, listener as () => void);
    const added = this.#added.get(emitter);
    if (added === undefined) this.#added.set(emitter, [[event, listener]]);
    else added.push([event, listener]);
  }

  remove(emitter: EventEmitter): void {
    for (const [event, listener] of this.#added.get(emitter) ?? []) emitter.off(event, listener as () => void);
    this.#added.delete(emitter);
  }

  removeAll(): void {
    for (const emitter of [...this.#added.keys()]) this.remove(emitter);
  }
}
