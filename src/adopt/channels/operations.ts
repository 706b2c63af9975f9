import { AsyncLocalStorage } from 'node:async_hooks';
import { isOwnWork } from '../../otel/own-work.ts';
import type { AdoptedCategory } from '../category.ts';
import type { Family, Handlers } from './family.ts';
import { errorType, type Fields } from './fields.ts';

interface OpenOperation {
  readonly at: number;
  readonly fields: Fields;
  /** Runs a function in the async context in which the operation began. */
  readonly there: <T>(fn: () => T) => T;
}

const here: OpenOperation['there'] = (fn) => fn();

/**
 * Pairs what channels publish about the beginning and the end of an operation. Operations of our own, and those that had
 * begun before the category was switched on, are left out.
 */
export class Operations {
  readonly #category: Pick<AdoptedCategory, 'debug'>;
  readonly #started = new WeakMap<object, OpenOperation>();
  readonly #endsInContext: boolean;

  constructor(category: Pick<AdoptedCategory, 'debug'>, { endsInContext = false }: Pick<Family, 'endsInContext'>) {
    this.#category = category;
    this.#endsInContext = endsInContext;
  }

  /** @param message of the line about the beginning. @default no line */
  begin(operation: object, fields: Fields, message?: string): void {
    if (isOwnWork()) return;
    const there = this.#endsInContext ? here : AsyncLocalStorage.snapshot();
    this.#started.set(operation, { at: performance.now(), fields, there });
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
    const milliseconds = Math.round((performance.now() - started.at) * 1000) / 1000;
    const described = present({ ...started.fields, ...fields, duration_ms: milliseconds });
    started.there(() => this.#category.debug(message, described));
  }
}

function present(fields: Fields): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, string | number] => entry[1] !== undefined),
  );
}

/** A message about one operation: the same object for its beginning and its end. */
export interface Traced {
  readonly error?: unknown;
  readonly result?: unknown;
}

interface TracedOperation<Message extends Traced> {
  /** Messages of the lines about an operation that ended, and one that failed. */
  readonly ended: string;
  readonly failed: string;
  describe(message: Message): Fields;
  /** Describes what is known at the end only. @default nothing */
  describeEnd?(message: Message): Fields;
  /** Operations to leave out. @default none */
  ignores?(message: Message): boolean;
  /** Whether it is over when its function returns. @default it failed or has a result */
  endsWithFunction?(message: Message): boolean;
}

/** Handlers for a tracing channel: one line when the operation has ended. */
export function traced<Message extends Traced>(
  operations: Operations,
  channel: string,
  { ended, failed, describe, describeEnd, ignores, endsWithFunction = isSettled }: TracedOperation<Message>,
): Handlers {
  const end = (message: Message) => {
    const fields = { ...describeEnd?.(message) };
    if ('error' in message) operations.end(message, failed, { ...fields, ...errorType(message.error) });
    else operations.end(message, ended, fields);
  };
  return {
    [`tracing:${channel}:start`]: (message: Message) => {
      if (ignores?.(message) !== true) operations.begin(message, describe(message));
    },
    [`tracing:${channel}:end`]: (message: Message) => {
      if (endsWithFunction(message)) end(message);
    },
    [`tracing:${channel}:asyncEnd`]: end,
  };
}

function isSettled(message: Traced): boolean {
  return 'error' in message || 'result' in message;
}
