import {
  connectionLike,
  isSentinel,
  type OwnRedisNode,
  type RedisClient,
  type RedisListener,
  type RedisSentinel,
} from './redis-client.ts';
import { connectRedis } from './redis-connection.ts';

/** Subscriptions that last until they are closed. */
export interface RedisMessages {
  /** Looks whether they stand, and puts them up again where they do not. Returns at once. */
  check(): void;
  close(): void;
}

export interface MessagesOptions {
  readonly channels: readonly string[];
  readonly hear: RedisListener;
  /** Called when the subscriptions stand, again. What was published before was not heard. */
  readonly subscribed: () => void;
  readonly deadlineMs: number;
}

/** Listens by a connection of its own. */
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
      // Tells a connection that died unnoticed.
      connection.send(['PING'], deadlineMs).catch(() => {});
    },
    close: () => void connection.close(),
  };
}

/**
 * Listens by the connection that a Sentinel client keeps for messages, and moves to the next primary: nobody else can make
 * one, as only the client itself knows the password.
 */
function listenBy(sentinel: RedisSentinel, { channels, hear, subscribed }: MessagesOptions): RedisMessages {
  let closed = false;
  let standing = false;

  function check(): void {
    // One that the application has closed would open its connection for us. Where the subscription stands nothing is sent.
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

/** Listens where a client of the application is connected. */
export function listenLike(client: RedisClient, options: MessagesOptions): RedisMessages {
  return isSentinel(client) ? listenBy(client, options) : listenThrough(connectionLike(client), options);
}
