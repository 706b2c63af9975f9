import {
  connectionLike,
  isSentinel,
  type OwnRedisNode,
  type RedisClient,
  type RedisListener,
  type RedisSentinel,
} from './client.ts';
import { connectRedis } from './connection.ts';

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

/** Subscribes on the connection for commands: the function is called with each one before anything else. */
export function listenBeside({ channels, hear, subscribed }: MessagesOptions): {
  readonly messages: RedisMessages;
  readonly established: (client: OwnRedisNode) => Promise<void>;
} {
  let unsubscribed: OwnRedisNode | undefined;

  async function subscribe(client: OwnRedisNode): Promise<void> {
    await client.subscribe([...channels], hear);
    if (unsubscribed === client) unsubscribed = undefined;
  }

  return {
    async established(client) {
      unsubscribed = client;
      // Without the permission to subscribe, commands work all the same, and changes are found by polling.
      await subscribe(client).catch(() => {});
    },
    messages: {
      check() {
        if (unsubscribed !== undefined) subscribe(unsubscribed).then(subscribed, () => {});
      },
      close() {
        unsubscribed = undefined;
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
