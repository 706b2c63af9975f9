import { isOwnWork } from '../../own-work.ts';
import type { AdoptedCategory } from '../types.ts';

/** A few fields copied from a message, by the names of OpenTelemetry's semantic conventions. */
export type Fields = Readonly<Record<string, string | number | undefined>>;

interface Started {
  readonly at: number;
  readonly fields: Fields;
}

/**
 * Pairs what channels publish about the beginning and the end of an operation. Operations of our own, and those that had
 * begun before the category was switched on, are left out.
 */
export class Operations {
  readonly #category: Pick<AdoptedCategory, 'debug'>;
  readonly #started = new WeakMap<object, Started>();
  readonly #now: () => number;

  constructor(category: Pick<AdoptedCategory, 'debug'>, now = () => performance.now()) {
    this.#category = category;
    this.#now = now;
  }

  /** @param message of the line about the beginning. @default no line */
  begin(operation: object, fields: Fields, message?: string): void {
    if (isOwnWork()) return;
    this.#started.set(operation, { at: this.#now(), fields });
    if (message !== undefined) this.#category.debug(message, present(fields));
  }

  /** Adds to what the line about the end will say. */
  learn(operation: object, fields: Fields): void {
    const started = this.#started.get(operation);
    if (started !== undefined) this.#started.set(operation, { ...started, fields: { ...started.fields, ...fields } });
  }

  end(operation: object, message: string, fields: Fields = {}): void {
    const started = this.#started.get(operation);
    if (started === undefined) return;
    this.#started.delete(operation);
    const milliseconds = Math.round((this.#now() - started.at) * 1000) / 1000;
    this.#category.debug(message, present({ ...started.fields, ...fields, duration_ms: milliseconds }));
  }
}

function present(fields: Fields): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, string | number] => entry[1] !== undefined),
  );
}
