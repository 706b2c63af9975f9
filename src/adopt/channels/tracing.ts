import type { Followed } from './family.ts';
import { errorType } from './fields.ts';
import type { Fields, Operations } from './operations.ts';

/** What a library publishes about one operation: the same object for its beginning and its end. */
export interface Traced {
  readonly error?: unknown;
  readonly result?: unknown;
}

interface TracedOperation<Message extends Traced> {
  /** Name of the tracing channel. */
  readonly channel: string;
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
  { channel, ended, failed, describe, describeEnd, ignores, endsWithFunction = isSettled }: TracedOperation<Message>,
): Followed['handlers'] {
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
