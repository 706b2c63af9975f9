import { setTimeout as sleep } from 'node:timers/promises';
import { diagnostics } from '../../telemetry/diagnostics.ts';
import { timers } from '../../time/timers.ts';
import { DeadlineError, Deadlines, within } from '../deadline.ts';
import type { Connected } from './client.ts';
import { isRefusal, isStale, mayRepeat, postgresProblem } from './problem.ts';

/** Longest wait between two connection attempts, in milliseconds, so that a fleet recovers soon after its database. */
const MAX_RETRY_MS = 500;
/** How many deadlines a new connection may take to be prepared: the first one makes the schema. */
const PREPARATION_DEADLINES = 5;

const CLOSED = 'the PostgreSQL store is closed';

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
  readonly open: (timeoutMs: number) => Promise<Connected>;
  readonly deadlineMs: number;
  /** Prepares every new connection, before any other statement. */
  readonly established: (connected: Connected, query: Query) => Promise<void>;
}

/** Statements run one after another: `pg` no longer queues them itself, and none overtakes another. */
export function connectPostgres({ open, deadlineMs, established }: ConnectionOptions): PostgresConnection {
  let live: Connected | undefined;
  /** The attempt in progress; statements wait for it. */
  let attempt: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let failures = 0;
  let failure: unknown = new Error('PostgreSQL is not connected');
  /** Set after a timeout, until the server answers again. */
  let silent = false;
  let closed = false;
  let turn: Promise<unknown> = Promise.resolve();
  const deadlines = new Deadlines();

  function begin(waitMs = 0): void {
    attempt = connect(waitMs).finally(() => {
      attempt = undefined;
    });
    attempt.catch(() => {});
  }

  async function connect(waitMs: number): Promise<void> {
    if (waitMs > 0) await sleep(waitMs, undefined, { ref: false });
    if (closed) throw new Error(CLOSED);
    let connected: Connected | undefined;
    try {
      const timeoutMs = deadlines.in(deadlineMs);
      connected = await within(timeoutMs, async (signal) => {
        const made = await open(timeoutMs);
        if (!signal.aborted && !closed) return made;
        made.close();
        throw new Error('PostgreSQL was connected too late');
      });
      await prepare(connected);
      failures = 0;
      silent = false;
      deadlines.answered();
    } catch (error) {
      silent ||= error instanceof DeadlineError;
      failure = postgresProblem(error);
      lost(connected);
      throw failure;
    }
  }

  async function prepare(connected: Connected): Promise<void> {
    live = connected;
    connected.on('error', () => lost(connected));
    connected.on('end', () => lost(connected));
    await within(deadlineMs * PREPARATION_DEADLINES, () =>
      established(connected, (text, values) => run(connected, text, values)),
    );
  }

  function lost(which: Connected | undefined): void {
    if (live !== which || closed) return;
    live = undefined;
    which?.close();
    // Full jitter, so that a fleet does not reconnect all at once.
    const wait = Math.random() * Math.min(MAX_RETRY_MS, 20 * 2 ** failures);
    failures += 1;
    if (failures > 1) timer = timers.setTimeout(begin, wait).unref();
    else {
      diagnostics.warn('rdcp: the connection to PostgreSQL was lost');
      // Statements wait for the first attempt: mostly it succeeds.
      begin(wait);
    }
  }

  /** In turn, on the connection that it was meant for. */
  function inTurn(connected: Connected, text: string, values: readonly unknown[], signal: AbortSignal) {
    const done = turn.then(async () => {
      for (;;) {
        if (signal.aborted || live !== connected) throw new Error('PostgreSQL is not connected');
        try {
          return await run(connected, text, values);
        } catch (error) {
          if (mayRepeat(error)) continue;
          throw isRefusal(error) ? error : new BrokenConnection('the connection to PostgreSQL broke', { cause: error });
        }
      }
    });
    turn = done.catch(() => {});
    return done;
  }

  begin();
  return {
    async query(text, values = []) {
      if (closed) throw new Error(CLOSED);
      if (silent) throw new Error('PostgreSQL does not answer');
      return within(deadlines.in(deadlineMs), async (signal) => {
        await attempt;
        if (live === undefined) throw failure;
        return inTurn(live, text, values, signal);
      }).catch((error: unknown) => {
        silent ||= error instanceof DeadlineError;
        if (live !== undefined && (error instanceof DeadlineError || isStale(error))) lost(live);
        throw postgresProblem(error);
      });
    },
    close() {
      closed = true;
      timers.clearTimeout(timer);
      live?.close();
      live = undefined;
    },
  };
}

const AS_TEXT = { getTypeParser: () => String };

/** Not prepared under a name: behind a pooler the next statement may come to another server process. */
export async function run(
  connected: Connected,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Row[]> {
  const { rows } = await connected.query({ text, values: [...values], types: AS_TEXT });
  return rows as Row[];
}
