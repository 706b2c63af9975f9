import { diagnostics } from '../diagnostics.ts';

/** What is used of a client of the `redis` package, version 6; written down here so that its types are not needed. */
export interface RedisClient {
  readonly isReady: boolean;
  connect(): Promise<unknown>;
  destroy(): void;
  unref(): void;
  sendCommand(args: readonly string[]): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  duplicate(overrides?: object): RedisClient;
  readonly options?: { readonly socket?: object | undefined } | undefined;
  on(event: string, listener: (...args: never[]) => void): unknown;
  off(event: string, listener: (...args: never[]) => void): unknown;
}

/** Longest wait between two attempts to connect, in milliseconds: a fleet is back soon after its Redis is. */
const MAX_RETRY_MS = 500;

/** Options of every client that we make: the connection below replaces the client's own queueing and reconnecting. */
export const CLIENT_OPTIONS = {
  disableOfflineQueue: true,
  maintNotifications: 'disabled',
} as const;

/** One connection to Redis that is made anew, for ever, when it breaks. */
export interface RedisConnection {
  /** Rejects when Redis did not answer within the deadline, or is not connected. Never sends a command twice. */
  send(args: readonly string[], deadlineMs: number): Promise<unknown>;
  /** Gives the connection up for a new one: it cannot be trusted any longer. */
  renew(): void;
  close(): void;
}

/**
 * A client ends at the first fault, and this makes the next one. The client's own reconnecting and `pingInterval` are not
 * used because their timers would keep the application's process alive as long as Redis is down.
 * @param established called with every client that became ready, before anything else is sent through it
 */
export function connectRedis(
  makeClient: () => RedisClient,
  connectDeadlineMs: number,
  established: (client: RedisClient) => Promise<unknown>,
): RedisConnection {
  let client: RedisClient | undefined;
  /** The attempt in progress; a command that comes meanwhile waits for it. */
  let attempt: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let failures = 0;
  let closed = false;

  function begin(): void {
    attempt = connect().finally(() => {
      attempt = undefined;
    });
    attempt.catch(() => {});
  }

  async function connect(): Promise<void> {
    const next = makeClient();
    // An `error` event without a listener would end the application's process.
    next.on('error', () => lost(next));
    next.on('end', () => lost(next));
    client = next;
    try {
      next.unref();
      await within(connectDeadlineMs, async () => {
        await next.connect().catch(rejectUnquoted);
        await established(next);
      });
      failures = 0;
    } catch (error) {
      lost(next);
      throw error;
    }
  }

  function lost(which: RedisClient): void {
    if (client !== which) return;
    client = undefined;
    which.destroy();
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
      return within(deadlineMs, async () => {
        if (attempt !== undefined) await attempt;
        const current = client;
        if (current === undefined) throw new Error('Redis is not connected');
        return current.sendCommand(args);
      }).catch((error: unknown) => {
        // What was sent stays unanswered in front of all that follows, and a replica takes no writes.
        if (client !== undefined && (error instanceof DeadlineError || isReadOnly(error))) lost(client);
        throw error;
      });
    },
    renew() {
      if (client !== undefined) lost(client);
    },
    close() {
      closed = true;
      clearTimeout(timer);
      if (client !== undefined) lost(client);
    },
  };
}

/** A client of the application, whose connecting, reconnecting and closing stay the application's. */
export function borrowRedis(client: RedisClient, established: () => void): RedisConnection {
  let closed = false;
  // Ours must not be the only listener that is missing: without any, an `error` event ends the process.
  const ignore = () => {};
  client.on('ready', established);
  client.on('error', ignore);
  if (client.isReady) queueMicrotask(established);
  return {
    async send(args, deadlineMs) {
      if (closed) throw new Error('the Redis store is closed');
      if (!client.isReady) throw new Error('Redis is not connected');
      return within(deadlineMs, () => client.sendCommand(args));
    },
    renew: () => {},
    close() {
      closed = true;
      client.off('ready', established);
      client.off('error', ignore);
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

async function within<T>(deadlineMs: number, work: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DeadlineError(`Redis did not answer within ${deadlineMs} ms`)), deadlineMs);
    timer.unref();
  });
  try {
    return await Promise.race([work(), deadline]);
  } finally {
    clearTimeout(timer);
  }
}
