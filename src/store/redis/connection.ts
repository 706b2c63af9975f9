import { unwritten } from '../../errors.ts';
import { diagnostics } from '../../telemetry/diagnostics.ts';
import { timers } from '../../time/timers.ts';
import { DeadlineError, Deadlines, within } from '../deadline.ts';
import { type OwnRedisNode, type RedisClient, searchAgain, sendThrough } from './client.ts';

/** Longest wait between two connection attempts, in milliseconds, so that a fleet recovers soon after its Redis. */
const MAX_RETRY_MS = 500;

const SILENT = 'Redis does not answer';
const NOT_CONNECTED = 'Redis is not connected';

/** A connection to Redis that reconnects until it is closed. */
export interface RedisConnection {
  /**
   * Rejects when Redis does not answer within the deadline, or is not connected; an unsent command is then never sent.
   * After one timeout, further commands are rejected at once until Redis answers again. A Sentinel client resends a
   * command when its connection broke before the answer. The error says by {@link unwritten} where Redis has refused the
   * command, or it was never sent.
   */
  send(args: readonly string[], deadlineMs: number): Promise<unknown>;
  /** Resolves when no command is in flight, or after the deadline. */
  close(): Promise<void>;
}

/**
 * A client is discarded at its first fault, and a new one is created. The client's own reconnecting and `pingInterval`
 * are not used: their timers would keep the application's process alive while Redis is down.
 * @param established called with every client that became ready, before any other command
 */
export function connectRedis(
  makeClient: () => OwnRedisNode | Promise<OwnRedisNode>,
  connectDeadlineMs: number,
  established: (client: OwnRedisNode) => Promise<unknown>,
): RedisConnection {
  let client: OwnRedisNode | undefined;
  /** The attempt in progress; commands wait for it. */
  let attempt: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let failures = 0;
  /** Set after a command or a connection attempt timed out, until Redis answers again. */
  let silent = false;
  let closed = false;
  const deadlines = new Deadlines();

  function begin(): void {
    attempt = connect().finally(() => {
      attempt = undefined;
    });
    attempt.catch(() => {});
  }

  async function connect(): Promise<void> {
    let next: OwnRedisNode | undefined;
    try {
      await within(deadlines.in(connectDeadlineMs), async (signal) => {
        const made = await makeClient();
        if (signal.aborted || closed) return;
        // An `error` event without a listener would end the application's process.
        made.on('error', () => lost(made));
        made.on('end', () => lost(made));
        client = next = made;
        made.unref();
        await made.connect().catch(rejectUnquoted);
        // A client destroyed while connecting may connect all the same.
        if (client !== made) {
          made.destroy();
          throw new Error(NOT_CONNECTED);
        }
        await established(made);
      });
      failures = 0;
      silent = false;
      deadlines.answered();
    } catch (error) {
      silent ||= error instanceof DeadlineError;
      lost(next);
      throw error;
    }
  }

  function lost(which: OwnRedisNode | undefined): void {
    if (client !== which) return;
    client = undefined;
    which?.destroy();
    if (closed) return;
    // Full jitter, so that a fleet does not reconnect all at once.
    const wait = Math.random() * Math.min(MAX_RETRY_MS, 20 * 2 ** failures);
    failures += 1;
    if (failures === 1) diagnostics.warn('rdcp: the connection to Redis was lost');
    timer = timers.setTimeout(begin, wait).unref();
  }

  begin();
  return {
    async send(args, deadlineMs) {
      if (silent) throw unwritten(new Error(SILENT));
      let sent = false;
      return within(deadlines.in(deadlineMs), async (signal) => {
        if (attempt !== undefined) await attempt;
        const current = client;
        if (current === undefined || signal.aborted) throw new Error(NOT_CONNECTED);
        sent = true;
        return current.sendCommand([...args]);
      }).catch((error: unknown) => {
        silent ||= error instanceof DeadlineError;
        // A timed-out command blocks all later ones on the connection, and a replica accepts no writes.
        if (client !== undefined && (error instanceof DeadlineError || isReadOnly(error))) lost(client);
        throw sent && !isRefusal(error) ? error : unwritten(error);
      });
    },
    async close() {
      closed = true;
      timers.clearTimeout(timer);
      if (client !== undefined) lost(client);
    },
  };
}

/**
 * Uses a client of the application, which keeps control of connecting, reconnecting and closing it.
 * @param key any key of the store
 * @param established called when the client became ready, or answers again
 */
export function borrowRedis(
  client: RedisClient,
  key: string,
  probeDeadlineMs: number,
  established: () => void,
): RedisConnection {
  const sendOnce = sendThrough(client, key);
  const underWay = new Set<Promise<unknown>>();
  let closed = false;
  /** Set after a command timed out, until Redis answers again. */
  let silent = false;
  const deadlines = new Deadlines();
  // An `error` event without any listener ends the process, so we always have one.
  const ignore = () => {};
  client.on('ready', established);
  client.on('error', ignore);
  queueMicrotask(established);

  /**
   * A Cluster client that is closed while it discovers nodes leaks connections, so `close` waits for pending commands.
   */
  function ask(work: (signal: AbortSignal) => Promise<unknown>, deadlineMs: number): Promise<unknown> {
    return within(deadlineMs, (signal) => {
      const asked = work(signal);
      underWay.add(asked);
      const done = () => underWay.delete(asked);
      asked.then(
        () => deadlines.answered(),
        () => {},
      );
      asked.then(done, done);
      return asked;
    });
  }

  /** Probes until Redis answers, even with an error. */
  async function endSilence(): Promise<void> {
    if (silent) return;
    silent = true;
    while (silent && !closed) {
      ask((signal) => searchAgain(client, key, signal), probeDeadlineMs).catch(ignore);
      silent = await ask((signal) => sendOnce(['HLEN', key], signal), probeDeadlineMs).then(
        () => false,
        (error: unknown) => error instanceof DeadlineError,
      );
    }
    if (!closed) established();
  }

  return {
    async send(args, deadlineMs) {
      if (closed) throw unwritten(new Error('the Redis store is closed'));
      if (silent) throw unwritten(new Error(SILENT));
      return ask((signal) => sendOnce(args, signal), deadlines.in(deadlineMs)).catch((error: unknown) => {
        if (error instanceof DeadlineError) void endSilence();
        throw isRefusal(error) ? unwritten(error) : error;
      });
    },
    async close() {
      closed = true;
      client.off('ready', established);
      client.off('error', ignore);
      await within(probeDeadlineMs, () => Promise.allSettled(underWay)).catch(ignore);
    },
  };
}

/** A Redis that does not know a command quotes its arguments. For HELLO and AUTH that is the password. */
function rejectUnquoted(error: unknown): never {
  if (!(error instanceof Error) || 'code' in error) throw error;
  throw new Error(error.message.split(/["'`]/, 1)[0]?.trimEnd());
}

/** Redis itself has answered, with the first word of its errors, or the command was not sent. */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && (/^[A-Z]{2,20} /.test(error.message) || error.message === NOT_CONNECTED);
}

function isReadOnly(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('READONLY');
}
