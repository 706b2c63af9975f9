import { diagnostics } from '../diagnostics.ts';
import { type OwnRedisNode, type RedisClient, searchAgain, sendThrough } from './redis-client.ts';

/** Longest wait between two attempts to connect, in milliseconds: a fleet is back soon after its Redis is. */
const MAX_RETRY_MS = 500;

const SILENT = 'Redis does not answer';

/** A way to Redis that is found anew, for ever, when it breaks. */
export interface RedisConnection {
  /**
   * Rejects when Redis did not answer within the deadline, or is not connected; what was not sent by then never is. Nobody else
   * waits for the same silence: until it ends all are refused at once. A Sentinel client sends a command again when its
   * connection broke before the answer.
   */
  send(args: readonly string[], deadlineMs: number): Promise<unknown>;
  /** Resolves when nothing is under way any longer, or so much time has passed that nobody waits for it. */
  close(): Promise<void>;
}

/**
 * A client ends at the first fault, and this makes the next one. The client's own reconnecting and `pingInterval` are not
 * used because their timers would keep the application's process alive as long as Redis is down.
 * @param established called with every client that became ready, before anything else is sent through it
 */
export function connectRedis(
  makeClient: () => OwnRedisNode | Promise<OwnRedisNode>,
  connectDeadlineMs: number,
  established: (client: OwnRedisNode) => Promise<unknown>,
): RedisConnection {
  let client: OwnRedisNode | undefined;
  /** The attempt in progress; a command that comes meanwhile waits for it. */
  let attempt: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let failures = 0;
  /** A command, or an attempt to connect, got no answer, and nothing has been answered since. */
  let silent = false;
  let closed = false;

  function begin(): void {
    attempt = connect().finally(() => {
      attempt = undefined;
    });
    attempt.catch(() => {});
  }

  async function connect(): Promise<void> {
    let next: OwnRedisNode | undefined;
    try {
      await within(connectDeadlineMs, async (signal) => {
        const made = await makeClient();
        if (signal.aborted || closed) return;
        // An `error` event without a listener would end the application's process.
        made.on('error', () => lost(made));
        made.on('end', () => lost(made));
        client = next = made;
        made.unref();
        await made.connect().catch(rejectUnquoted);
        // What is destroyed while it connects goes on, and is connected then.
        if (client !== made) {
          made.destroy();
          throw new Error('Redis is not connected');
        }
        await established(made);
      });
      failures = 0;
      silent = false;
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
    // Full jitter, so that a fleet does not come back as one.
    const wait = Math.random() * Math.min(MAX_RETRY_MS, 20 * 2 ** failures);
    failures += 1;
    if (failures === 1) diagnostics.warn('rdcp: the connection to Redis was lost');
    timer = setTimeout(begin, wait).unref();
  }

  begin();
  return {
    async send(args, deadlineMs) {
      if (silent) throw new Error(SILENT);
      return within(deadlineMs, async () => {
        if (attempt !== undefined) await attempt;
        const current = client;
        if (current === undefined) throw new Error('Redis is not connected');
        return current.sendCommand([...args]);
      }).catch((error: unknown) => {
        silent ||= error instanceof DeadlineError;
        // What was sent stays unanswered in front of all that follows, and a replica takes no writes.
        if (client !== undefined && (error instanceof DeadlineError || isReadOnly(error))) lost(client);
        throw error;
      });
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      if (client !== undefined) lost(client);
    },
  };
}

/**
 * A client of the application, whose connecting, reconnecting and closing stay the application's.
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
  /** A command got no answer, and nothing has been answered since. */
  let silent = false;
  // Ours must not be the only listener that is missing: without any, an `error` event ends the process.
  const ignore = () => {};
  client.on('ready', established);
  client.on('error', ignore);
  queueMicrotask(established);

  /** A Cluster client that is closed while a command makes it look for nodes opens connections that nobody closes. */
  function ask(work: (signal: AbortSignal) => Promise<unknown>, deadlineMs: number): Promise<unknown> {
    return within(deadlineMs, (signal) => {
      const asked = work(signal);
      underWay.add(asked);
      const done = () => underWay.delete(asked);
      asked.then(done, done);
      return asked;
    });
  }

  /** Asks until there is an answer, be it an error. */
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
      if (closed) throw new Error('the Redis store is closed');
      if (silent) throw new Error(SILENT);
      return ask((signal) => sendOnce(args, signal), deadlineMs).catch((error: unknown) => {
        if (error instanceof DeadlineError) void endSilence();
        throw error;
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

/** A Redis that does not know a command quotes its arguments: of HELLO and AUTH, that is the password. */
function rejectUnquoted(error: unknown): never {
  if (!(error instanceof Error) || 'code' in error) throw error;
  throw new Error(error.message.split(/["'`]/, 1)[0]?.trimEnd());
}

class DeadlineError extends Error {}

function isReadOnly(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('READONLY');
}

/** @param work told by the signal that nobody waits for it any longer */
async function within<T>(deadlineMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { promise: deadline, reject } = Promise.withResolvers<never>();
  const over = new AbortController();
  const timer = setTimeout(() => {
    reject(new DeadlineError(`Redis did not answer within ${deadlineMs} ms`));
    over.abort();
  }, deadlineMs).unref();
  try {
    return await Promise.race([work(over.signal), deadline]);
  } finally {
    clearTimeout(timer);
  }
}
