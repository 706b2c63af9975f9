import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { invalidStore } from '../invalid.ts';

// The parts of the `redis` package (versions 5 and 6) that we use, declared here so that its types are not needed.

/** The events of every client of the `redis` package. */
export interface RedisEmitter {
  /** Adds a listener of an event, such as `error`. */
  on(event: string, listener: () => void): unknown;
  /** Removes it. */
  off(event: string, listener: () => void): unknown;
}

/** Called with a message and its channel. */
export type RedisListener = (message: string, channel: string) => void;

/** A command still unsent when it is aborted or times out is never sent. */
export interface RedisSendOptions {
  /** Ends the wait for the reply. */
  readonly abortSignal?: AbortSignal;
}

/** Created by `createClient`. */
export interface RedisNode extends RedisEmitter {
  /** Whether it is connected. */
  readonly isReady: boolean;
  /** Connects; rejects if that fails. */
  connect(): Promise<unknown>;
  /** Lets the process end although the connection is open. */
  unref(): void;
  /** Sends a command and resolves with its reply. */
  sendCommand(args: string[], options?: RedisSendOptions): Promise<unknown>;
  /** Has messages of channels passed to a listener. */
  subscribe(channels: string[], listener: RedisListener): Promise<unknown>;
  /** Returns a client with the same options, and others, that is not connected. */
  duplicate(overrides?: object): RedisNode;
  /** The options that it was created with. */
  readonly options?:
    | {
        /** How it connects. */
        readonly socket?: object | undefined;
      }
    | undefined;
}

/** A connection that the store creates and closes. */
export interface OwnRedisNode extends RedisNode {
  /** Closes it at once. */
  destroy(): void;
}

/** Created by `createSentinel`. */
export interface RedisSentinel extends RedisEmitter {
  /** Whether it is connected or connecting. */
  readonly isOpen: boolean;
  /** The present primary. */
  getMasterNode(): unknown;
  /** Sends a command and resolves with its reply. */
  sendCommand(isReadonly: boolean, args: string[], options?: RedisSendOptions): Promise<unknown>;
  /** Has messages of channels passed to a listener. */
  subscribe(channels: string[], listener: RedisListener): Promise<unknown>;
  /** Undoes `subscribe`. */
  unsubscribe(channels: string[], listener: never): Promise<unknown>;
}

/** Created by `createCluster`. */
export interface RedisCluster extends RedisEmitter {
  /** Any node. */
  getRandomNode(): unknown;
  /** The client of a node. */
  nodeClient(node: never): RedisNode | Promise<RedisNode>;
  /** Sends a command and resolves with its reply. */
  sendCommand(
    firstKey: string | undefined,
    isReadonly: boolean,
    args: string[],
    options?: RedisSendOptions,
  ): Promise<unknown>;
}

/** A client of the `redis` package, version 5 or 6. */
export type RedisClient = RedisNode | RedisSentinel | RedisCluster;

/** Retry interval for a key that a cluster is moving, in milliseconds. */
const MOVING_MS = 10;

/** Options of our own connections: `connectRedis` replaces the client's queueing, reconnecting and deadlines. */
const OWN_CONNECTION = {
  commandOptions: { timeout: undefined },
  disableOfflineQueue: true,
  maintNotifications: 'disabled',
  pingInterval: undefined,
  clientSideCache: undefined,
} as const;

/** Sends one command, until the signal aborts it. */
type SendOnce = (args: readonly string[], signal: AbortSignal) => Promise<unknown>;

/** Sends through a client of the application. All keys live in the slot of `key`, and only its primary is used. */
export function sendThrough(client: RedisClient, key: string): SendOnce {
  if (isCluster(client)) {
    return async (args, signal) => {
      for (;;) {
        try {
          return await client.sendCommand(key, false, [...args], until(signal));
        } catch (error) {
          // The slot is split between two nodes and nothing was done: retry.
          if (!(error instanceof Error && error.message.startsWith('TRYAGAIN'))) throw error;
        }
        await sleep(MOVING_MS, undefined, { ref: false, signal });
      }
    };
  }
  if (isSentinel(client)) return (args, signal) => client.sendCommand(false, [...args], until(signal));
  return async (args, signal) => {
    if (!client.isReady) throw new Error('Redis is not connected');
    return client.sendCommand([...args], until(signal));
  };
}

function until(signal: AbortSignal): RedisSendOptions {
  return { abortSignal: signal };
}

/**
 * Makes a client that got no answer look for the primary again. A cluster client looks only after a redirect or a
 * broken connection, and a vanished host causes neither; any other node redirects.
 */
export async function searchAgain(client: RedisClient, key: string, signal: AbortSignal): Promise<void> {
  if (isCluster(client)) await client.sendCommand(undefined, true, ['HLEN', key], until(signal));
}

/**
 * Checks a client of the application, which may be of another package.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID`
 */
export function assertRedisClient(client: unknown): asserts client is RedisClient {
  const typeOf = (name: string) => typeof Reflect.get(Object(client), name);
  const isKnown =
    typeOf('getMasterNode') === 'function' || typeOf('nodeClient') === 'function' || typeOf('isReady') === 'boolean';
  // Version 4 has no `destroy`.
  if (isKnown && ['destroy', 'on', 'off', 'sendCommand'].every((name) => typeOf(name) === 'function')) return;
  throw invalidStore(
    'redis: client must be one of the package redis, version 5 or 6, from createClient, createSentinel or createCluster; with another package such as ioredis, use url',
  );
}

/** Creates connections to the server of an application's client. A Sentinel client does not allow that. */
export function connectionLike(
  client: Exclude<RedisClient, RedisSentinel>,
): () => OwnRedisNode | Promise<OwnRedisNode> {
  const duplicate = (node: RedisNode) =>
    own(node.duplicate({ ...OWN_CONNECTION, socket: { ...node.options?.socket, reconnectStrategy: false } }));
  // A cluster broadcasts messages to all nodes, so any node works.
  if (isCluster(client)) return async () => duplicate(await client.nodeClient(client.getRandomNode() as never));
  return () => duplicate(client);
}

export interface RedisConnector {
  /** Creates a connection. */
  readonly connect: () => OwnRedisNode;
  /** Whether one connection carries commands and messages, which RESP3 allows. */
  readonly carriesMessages: boolean;
}

/** @throws {RdcpError} `RDCP_CONFIG_INVALID` for an invalid URL, or when the `redis` package is not installed */
export function connectionTo(url: string): RedisConnector {
  if (!isRedisUrl(url)) {
    throw invalidStore('redis: must be a URL, redis://[user:password@]host[:port][/database] or rediss://…');
  }
  const { createClient, DEFAULT_RESP = 2 } = loadRedis();
  return {
    // A fresh object each time: the client modifies its options.
    connect: () => own(createClient({ ...OWN_CONNECTION, url, socket: { reconnectStrategy: false } })),
    carriesMessages: DEFAULT_RESP === 3,
  };
}

/** Gives `destroy` the semantics of version 6: version 5 throws when the client has already ended. */
function own(client: RedisNode): OwnRedisNode {
  const owned = client as OwnRedisNode;
  const destroy = owned.destroy.bind(owned);
  return Object.assign(owned, {
    destroy() {
      try {
        destroy();
      } catch {
        // The client had already ended.
      }
    },
  });
}

export function isSentinel(client: RedisClient): client is RedisSentinel {
  return 'getMasterNode' in client;
}

function isCluster(client: RedisClient): client is RedisCluster {
  return 'getRandomNode' in client;
}

function isRedisUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password, pathname } = new URL(text);
  try {
    // Invalid escapes fail here, instead of at every connection attempt.
    decodeURIComponent(username + password);
  } catch {
    return false;
  }
  return /^rediss?:$/.test(protocol) && hostname !== '' && /^(\/\d*)?$/.test(pathname);
}

function loadRedis(): { createClient(options: object): RedisNode; DEFAULT_RESP?: number } {
  let cause: unknown;
  try {
    const redis = createRequire(import.meta.url)('redis');
    // Version 4 has none.
    if (redis.createSentinel !== undefined) return redis;
  } catch (error) {
    cause = error;
  }
  throw invalidStore('needs the package redis, version 5 or 6: run npm install redis', cause);
}
