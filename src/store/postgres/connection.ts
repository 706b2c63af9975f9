import { inTurn } from '../one-at-a-time.ts';
import { Reconnecting } from '../reconnecting.ts';
import type { PostgresLink } from './client.ts';
import { isRefusal, isStale, mayRepeat, postgresProblem } from './problem.ts';

/** How many deadlines a new connection may take to be prepared: the first one makes the schema. */
const PREPARATION_DEADLINES = 5;

/** The connection broke before the answer: the statement may have been run. */
export class BrokenConnection extends Error {}

/** A row as text, whatever the application has set the types of its `pg` to. */
export type Row = Readonly<Record<string, string | null>>;

/** Runs one statement, which is a transaction of its own. */
export type Query = (text: string, values?: readonly unknown[]) => Promise<readonly Row[]>;

/** One connection, which is opened again until it is closed. */
export interface PostgresConnection {
  /**
   * Rejects when the server does not answer within the deadline, or is not connected. After one timeout, further statements
   * are rejected at once until the server answers again.
   */
  readonly query: Query;
  close(): void;
}

export interface ConnectionOptions {
  readonly open: (timeoutMs: number) => Promise<PostgresLink>;
  readonly deadlineMs: number;
  /** Prepares every new connection, before any other statement. */
  readonly established: (connected: PostgresLink, query: Query) => Promise<void>;
}

/** Statements run one after another: `pg` no longer queues them itself, and none overtakes another. */
export function connectPostgres({ open, deadlineMs, established }: ConnectionOptions): PostgresConnection {
  const next = inTurn();
  const connection = new Reconnecting<PostgresLink>({
    to: 'PostgreSQL',
    deadlineMs,
    open,
    prepare: (connected) => established(connected, (text, values) => run(connected, text, values)),
    preparationMs: deadlineMs * PREPARATION_DEADLINES,
    close: (connected) => connected.close(),
    isStale,
  });

  /** In turn, on the connection that it was meant for. */
  function queued(connected: PostgresLink, text: string, values: readonly unknown[], signal: AbortSignal) {
    return next(async () => {
      for (;;) {
        if (signal.aborted || !connection.isLive(connected)) throw new Error('PostgreSQL is not connected');
        try {
          return await run(connected, text, values);
        } catch (error) {
          if (mayRepeat(error)) continue;
          throw isRefusal(error) ? error : new BrokenConnection('the connection to PostgreSQL broke', { cause: error });
        }
      }
    });
  }

  return {
    query: (text, values = []) =>
      connection
        .use(deadlineMs, (connected, signal) => queued(connected, text, values, signal))
        .catch((error: unknown) => {
          throw postgresProblem(error);
        }),
    close: () => connection.close(),
  };
}

const AS_TEXT = { getTypeParser: () => String };

/** Not prepared under a name: behind a pooler the next statement may come to another server process. */
export async function run(
  connected: PostgresLink,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Row[]> {
  const { rows } = await connected.query({ text, values: [...values], types: AS_TEXT });
  return rows as Row[];
}
