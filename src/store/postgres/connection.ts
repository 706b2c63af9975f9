import { isRdcpError, StoreOutage, storeProblem } from '../../wire/errors.ts';
import { inTurn } from '../one-at-a-time.ts';
import { Reconnecting } from '../reconnecting.ts';
import type { PostgresLink } from './client.ts';

/** How many deadlines a new connection may take to be prepared: the first one makes the schema. */
const PREPARATION_DEADLINES = 5;

/** The connection broke before the answer: the statement may have been run. */
export class BrokenConnection extends Error {}

/** A row as text, whatever the application has set the types of its `pg` to. */
export type Row = Readonly<Record<string, string | null>>;

/** Runs one statement, which is a transaction of its own. */
export type Query = (text: string, values?: readonly unknown[]) => Promise<readonly Row[]>;

interface ConnectionOptions {
  readonly open: (timeoutMs: number) => Promise<PostgresLink>;
  readonly deadlineMs: number;
  /** Prepares every new connection, before any other statement. */
  readonly established: (connected: PostgresLink, query: Query) => Promise<void>;
}

/**
 * One connection, which is opened again until it is closed. Statements run one after another: `pg` no longer queues them itself,
 * and none overtakes another.
 */
export function connectPostgres({ open, deadlineMs, established }: ConnectionOptions) {
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
    /**
     * Rejects when the server does not answer within the deadline, or is not connected. After one timeout, further statements
     * are rejected at once until the server answers again.
     */
    query: (text: string, values: readonly unknown[] = []): ReturnType<Query> =>
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

/** SQLSTATE codes (https://www.postgresql.org/docs/current/errcodes-appendix.html) for which writes alone may fail. */
const REFUSED_WRITES: Readonly<Record<string, string>> = {
  '25006': 'the server is a standby, or read-only',
  '42501': 'the user lacks a permission',
  '53100': 'the disk is full',
  '53200': 'out of memory',
  '55P03': 'locked by another session',
  '57014': 'given up after statement_timeout, or cancelled',
};
const UNREACHABLE: Readonly<Record<string, string>> = {
  '28000': 'access is denied',
  '28P01': 'the password is wrong',
  '3D000': 'there is no such database',
  '53300': 'too many connections',
  '57P03': 'the server is starting or stopping',
};

/** Another statement was in the way, and nothing was done. */
const MAY_REPEAT = ['40001', '40P01'];

/** The connection leads to the wrong server, or the schema is gone: another connection checks both. */
const STALE = ['25006', '42P01', '42883', '3F000'];

/** The message says in one line what is wrong, without the texts of PostgreSQL, which may quote values. */
export function postgresProblem(error: unknown): unknown {
  const code = sqlState(error);
  // Where a name has several addresses, the error has no message of its own.
  if (code === undefined) return isSystemError(error) ? new StoreOutage(storeProblem(error), { cause: error }) : error;
  const refused = REFUSED_WRITES[code];
  if (refused !== undefined) return new StoreOutage(`the store refuses writes (${refused})`, { cause: error });
  const reason = UNREACHABLE[code] ?? `SQLSTATE ${code}`;
  return new StoreOutage(`the store cannot be reached (${reason})`, { cause: error });
}

function mayRepeat(error: unknown): boolean {
  return MAY_REPEAT.includes(sqlState(error) ?? '');
}

function isStale(error: unknown): boolean {
  return STALE.includes(sqlState(error) ?? '');
}

/** Whether the server has refused the statement. Otherwise the connection broke, or its server process was ended. */
function isRefusal(error: unknown): boolean {
  const code = sqlState(error);
  return code !== undefined && !/^(08|57P0[12])/.test(code);
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && !isRdcpError(error);
}

function sqlState(error: unknown): string | undefined {
  const code = error instanceof Error && 'severity' in error && 'code' in error ? String(error.code) : '';
  return /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}
