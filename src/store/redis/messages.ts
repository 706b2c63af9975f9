import { timers } from '../../wire/time/timers.ts';
import {
  connectionLike,
  isSentinel,
  type OwnRedisNode,
  type RedisClient,
  type RedisListener,
  type RedisSentinel,
} from './client.ts';
import { connectRedis } from './connection.ts';

/** Until a new connection for commands subscribes too, in milliseconds. */
const RESUBSCRIBE_MS = 250;

/** Subscriptions that last until they are closed. */
export interface RedisMessages {
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
  /** Called with each connection before anything else. */
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
