import type { EventEmitter } from 'node:events';

type Listener = () => void;

/** Listeners on objects of the application, which can all be taken off again. */
export class Listeners {
  readonly #guarded: (listener: Listener) => Listener;
  readonly #added = new Map<EventEmitter, readonly (readonly [event: string, listener: Listener])[]>();

  /** @param guarded wraps a listener, so that it never throws */
  constructor(guarded: (listener: Listener) => Listener) {
    this.#guarded = guarded;
  }

  /** Calls one of the listeners, for the first of their events. */
  first(emitter: EventEmitter, listeners: Readonly<Record<string, Listener>>): void {
    const added = Object.entries(listeners).map(([event, listener]) => {
      const first = this.#guarded(() => {
        this.#remove(emitter);
        listener();
      });
      emitter.once(event, first);
      return [event, first] as const;
    });
    this.#added.set(emitter, [...(this.#added.get(emitter) ?? []), ...added]);
  }

  removeAll(): void {
    for (const emitter of [...this.#added.keys()]) this.#remove(emitter);
  }

  #remove(emitter: EventEmitter): void {
    for (const [event, listener] of this.#added.get(emitter) ?? []) emitter.off(event, listener);
    this.#added.delete(emitter);
  }
}
