import { unwritten } from '../../wire/errors.ts';
import { timers } from '../../wire/time/timers.ts';
import { Reconnecting, within } from '../reconnecting.ts';
import {
  connectionLike,
  isSentinel,
  type OwnRedisNode,
  type RedisClient,
  type RedisListener,
  type RedisSentinel,
  searchAgain,
  sendThrough,
} from './client.ts';

/**
 * A connection of our own. Commands reject when Redis does not answer within the deadline, or is not connected; an unsent
 * command is then never sent. The error says by {@link unwritten} where Redis has refused the command, or it was never sent.
 * @param established called with every client that became ready, before any other command
 */
export function connectRedis(
  makeClient: () => OwnRedisNode | Promise<OwnRedisNode>,
  connectDeadlineMs: number,
  established: (client: OwnRedisNode) => Promise<unknown>,
) {
  const connection = new Reconnecting<OwnRedisNode>({
    to: 'Redis',
    deadlineMs: connectDeadlineMs,
    async open(_, signal) {
      const made = await makeClient();
      signal.throwIfAborted();
      signal.addEventListener('abort', () => made.destroy());
      // An `error` event without a listener would end the application's process.
      made.on('error', () => {});
      made.unref();
      await made.connect().catch(rejectUnquoted);
      return made;
    },
    prepare: established,
    close: (client) => client.destroy(),
    isStale: isReadOnly,
  });
  return {
    send: (args: readonly string[], deadlineMs: number) =>
      connection.use(deadlineMs, (client) => client.sendCommand([...args])).catch(rejectRefusal),
    close: async () => connection.close(),
  };
}

/**
 * Uses a client of the application, which keeps control of connecting, reconnecting and closing it. After a timeout it is probed
 * until Redis answers, even with an error.
 * @param key any key of the store
 * @param established called when the client became ready, or answers again
 */
export function borrowRedis(client: RedisClient, key: string, probeDeadlineMs: number, established: () => void) {
  const sendOnce = sendThrough(client, key);
  const underWay = new Set<Promise<unknown>>();
  // An `error` event without any listener ends the process, so we always have one.
  const ignore = () => {};
  client.on('ready', established);
  client.on('error', ignore);

  /** A Cluster client that is closed while it discovers nodes leaks connections, so `close` waits for pending commands. */
  function pending(command: Promise<unknown>): Promise<unknown> {
    underWay.add(command);
    const done = () => underWay.delete(command);
    command.then(done, done);
    return command;
  }

  /** The first use searches nothing: the application may close a Cluster client before that is done. */
  let isUsed = false;
  const connection = new Reconnecting({
    to: 'Redis',
    deadlineMs: probeDeadlineMs,
    open: async () => ({ on: ignore }),
    async prepare(_, signal) {
      if (isUsed) pending(searchAgain(client, key, signal)).catch(ignore);
      isUsed = true;
      await pending(sendOnce(['HLEN', key], signal)).catch(ignore);
      if (!signal.aborted) established();
    },
    close: ignore,
    isStale: () => false,
  });
  return {
    send: (args: readonly string[], deadlineMs: number) =>
      connection.use(deadlineMs, (_, signal) => pending(sendOnce(args, signal))).catch(rejectRefusal),
    /** Resolves when no command is in flight, or after the deadline. */
    async close() {
      connection.close();
      client.off('ready', established);
      client.off('error', ignore);
      await within(probeDeadlineMs, () => Promise.allSettled(underWay)).catch(ignore);
    },
  };
}

/** Says where Redis itself has refused a command, which has not taken effect then. Its errors begin with a word in capitals. */
function rejectRefusal(error: unknown): never {
  throw error instanceof Error && /^[A-Z]{2,20} /.test(error.message) ? unwritten(error) : error;
}

/** A Redis that does not know a command quotes its arguments. For HELLO and AUTH that is the password. */
function rejectUnquoted(error: unknown): never {
  if (!(error instanceof Error) || 'code' in error) throw error;
  throw new Error(error.message.split(/["'`]/, 1)[0]?.trimEnd());
}

function isReadOnly(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('READONLY');
}

/** Until a new connection for commands subscribes too, in milliseconds. */
const RESUBSCRIBE_MS = 250;

interface RedisMessages {
  /** Checks the subscriptions and renews them if needed. Returns at once. */
  check(): void;
  close(): void;
}

export interface MessagesOptions {
  readonly channels: readonly string[];
  readonly hear: RedisListener;
  /** Called whenever the subscriptions are established. Earlier messages were missed. */
  readonly subscribed: () => void;
  readonly deadlineMs: number;
}

/** Subscribes on a connection of its own. */
export function listenThrough(
  makeClient: () => OwnRedisNode | Promise<OwnRedisNode>,
  { channels, hear, subscribed, deadlineMs }: MessagesOptions,
): RedisMessages {
  const connection = connectRedis(makeClient, deadlineMs, async (client) => {
    await client.subscribe([...channels], hear);
    subscribed();
  });
  return {
    check() {
      // Detects a dead connection.
      connection.send(['PING'], deadlineMs).catch(() => {});
    },
    close: () => void connection.close(),
  };
}

/**
 * Subscribes on the connection for commands: at once on the first one, a little later on those that follow. Redis may end connections
 * of subscribers alone, as beyond their output buffer limit; what is sent before that is answered all the same.
 */
export function listenBeside({ channels, hear, subscribed }: MessagesOptions): {
  readonly messages: RedisMessages;
  readonly established: (client: OwnRedisNode) => Promise<void>;
} {
  let unsubscribed: OwnRedisNode | undefined;
  let isFirst = true;
  let timer: NodeJS.Timeout | undefined;

  async function subscribe(client: OwnRedisNode): Promise<void> {
    await client.subscribe([...channels], hear);
    if (unsubscribed === client) unsubscribed = undefined;
  }

  function check(): void {
    if (unsubscribed !== undefined) subscribe(unsubscribed).then(subscribed, () => {});
  }

  return {
    async established(client) {
      unsubscribed = client;
      timers.clearTimeout(timer);
      // Without the permission to subscribe, commands work all the same, and changes are found by polling.
      if (isFirst) await subscribe(client).catch(() => {});
      else timer = timers.setTimeout(check, RESUBSCRIBE_MS).unref();
      isFirst = false;
    },
    messages: {
      check,
      close() {
        unsubscribed = undefined;
        timers.clearTimeout(timer);
      },
    },
  };
}

/**
 * Subscribes on the connection that a Sentinel client keeps for messages, and follows a failover. We cannot create one
 * ourselves, because only the client knows the password.
 */
function listenBy(sentinel: RedisSentinel, { channels, hear, subscribed }: MessagesOptions): RedisMessages {
  let closed = false;
  let standing = false;

  function check(): void {
    // A client closed by the application would reopen its connection. An existing subscription sends nothing.
    if (!sentinel.isOpen) return;
    sentinel.subscribe([...channels], hear).then(
      () => {
        if (closed) unsubscribe();
        else if (!standing) subscribed();
        standing = !closed;
      },
      () => {
        standing = false;
      },
    );
  }

  function unsubscribe(): void {
    if (sentinel.isOpen) sentinel.unsubscribe([...channels], hear as never).catch(() => {});
  }

  check();
  return {
    check,
    close() {
      closed = true;
      if (standing) unsubscribe();
    },
  };
}

/** Subscribes on the server of an application's client. */
export function listenLike(client: RedisClient, options: MessagesOptions): RedisMessages {
  return isSentinel(client) ? listenBy(client, options) : listenThrough(connectionLike(client), options);
}
