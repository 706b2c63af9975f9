import { randomUUID } from 'node:crypto';
import { timers } from '../../wire/time/timers.ts';
import { BEAT_MS } from '../fleet.ts';
import { invalidStore } from '../invalid.ts';
import { ChangeFeed } from '../lineage.ts';
import { SealedMessages } from '../sealed-messages.ts';
import type { Position, StateStore } from '../state-store.ts';
import { StoredValues } from '../stored-values.ts';
import { createRedisTrail } from './audit.ts';
import { createRedisChanges } from './changes.ts';
import { assertRedisClient, connectionTo, type RedisClient } from './client.ts';
import { createRedisCommits } from './commit.ts';
import {
  borrowRedis,
  connectRedis,
  listenBeside,
  listenLike,
  listenThrough,
  type MessagesOptions,
} from './connection.ts';
import { createRedisRecords } from './records.ts';
import { evaluate, PROBES, PUBLISH, type Send } from './scripts.ts';

export type { RedisClient } from './client.ts';

/** A Redis by its URL, or by a client of the application. */
export type RedisStoreOptions = {
  /** Prefix of every key and channel: each of several services on one Redis needs its own. @default '' */
  readonly prefix?: string;
  /** Deadline of a command, in milliseconds. @default 1000 */
  readonly deadlineMs?: number;
  /**
   * Poll interval in milliseconds, which finds changes whose message was lost. A fleet of more than 333 processes polls less
   * often. @default 1000
   */
  readonly pollMs?: number;
} & (
  | {
      /**
       * `redis://[user:password@]host[:port][/database]`, or `rediss://` for TLS. The store opens and closes its
       * connections: one with version 6 of the `redis` package, and one more for messages with version 5.
       */
      readonly url: string;
    }
  | {
      /**
       * A client of the `redis` package, version 5 or 6, that the application connects and closes: from `createClient`,
       * `createSentinel` or `createCluster`. The store opens one more connection for messages and
       * closes it.
       */
      readonly client: RedisClient;
    }
);

/** A load reads everything at once, so it may take longer than other commands. */
const LOAD_DEADLINE_FACTOR = 5;

/**
 * State shared by a fleet through Redis 6.2 or newer. A commit is one script and takes effect once, or not at all; its
 * durability depends on the persistence of the Redis. Other processes receive it by pub/sub, at the latest with the
 * next poll. A process that misses changes which Redis had acknowledged reports that through `onReset`.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` for an invalid URL, for a client of another package, or when the `redis`
 * package is not installed
 */
export function createRedisStore(options: RedisStoreOptions): StateStore {
  const { prefix = '', deadlineMs = 1_000, pollMs = 1_000 } = options;
  if (/^[^{]*\{\}/.test(prefix)) {
    throw invalidStore('redis: a prefix whose first brace is {} spreads the keys over a cluster');
  }
  const key = (name: string) => `${prefix}{rdcp}:${name}`;
  const channel = key('changed');
  const writer = randomUUID();
  const stored = new StoredValues();
  /** A beat compares what Redis has, as a poll does. */
  let pollAt = 0;
  let closed = false;

  const send: Send = (args) => commands.send(args, deadlineMs);
  const feed = new ChangeFeed('Redis');
  const changes = createRedisChanges({
    feed,
    key,
    send,
    stored,
    isLarge: () => records.beatMs() !== BEAT_MS,
  });
  const records = createRedisRecords({
    key,
    send,
    stored,
    clock: feed,
    beating: (beatMs) => newest(1.5 * (beatMs > BEAT_MS ? beatMs : pollMs)),
  });
  const channelOf = (to = '') => key(to === '' ? 'messages' : `messages:${to}`);
  const carried = new SealedMessages({
    server: 'Redis',
    address: writer,
    channelOf,
    known: feed,
    publish: (sealed, to) => evaluate(send, PUBLISH, [channelOf()], [to, sealed]),
  });
  const { commands, messages } = connect({
    channels: [channel, ...carried.channels],
    hear: (message, from) => {
      if (from === channel) changes.hear(message);
      else carried.hear(message, from);
    },
    subscribed: changes.resync,
    deadlineMs,
  });
  const timer = timers
    .setInterval(() => {
      if (performance.now() >= pollAt) poll();
    }, pollMs)
    .unref();
  const trail = createRedisTrail(send, key('audit'));
  const commits = createRedisCommits({ key, send, stored, feed, sync: changes.sync, writer, channel, deadlineMs });

  function connect(listening: MessagesOptions) {
    if ('client' in options) {
      const { client } = options;
      assertRedisClient(client);
      return {
        commands: borrowRedis(client, key('meta'), deadlineMs, poll),
        messages: listenLike(client, listening),
      };
    }
    const { connect: makeClient, carriesMessages } = connectionTo(options.url);
    const beside = carriesMessages ? listenBeside(listening) : undefined;
    return {
      commands: connectRedis(makeClient, deadlineMs, async (client) => {
        await beside?.established(client);
        await changes.synchronize((args) => client.sendCommand([...args]));
      }),
      messages: beside?.messages ?? listenThrough(makeClient, listening),
    };
  }

  /**
   * Compares what Redis has with what is known.
   * @param restMs for how long no poll needs to
   */
  async function newest(restMs = 0): Promise<Position> {
    const meta = (await send(['HMGET', key('meta'), 'epoch', 'version', 'head'])) as unknown[];
    if (restMs > 0) {
      pollAt = performance.now() + restMs;
      messages.check();
    }
    changes.compare(meta);
    return { history: String(meta[0] ?? ''), revision: Number(meta[1] ?? 0) };
  }

  /** Polls, which finds changes whose message was lost. */
  function poll(): void {
    changes.resync();
    messages.check();
  }

  return {
    name: 'redis',
    shared: true,
    records,
    positions: {
      position: feed.position,
      newest,
      onMoved: (listener) => feed.moved.add(listener),
    },
    messages: carried,

    async load() {
      // A cheap command first: it fails sooner than a load when Redis is down.
      await send(['HLEN', key('meta')]);
      return changes.load((args) => commands.send(args, deadlineMs * LOAD_DEADLINE_FACTOR));
    },

    commit: commits.commit,
    findReplay: commits.findReplay,

    subscribe: (listener) => feed.subscribe(listener, changes.resync),
    onReset: (listener) => feed.resets.add(listener),
    onMalformed: (listener) => stored.malformed.add(listener),
    queryAudit: (query) => trail.page(query),
    newestAudit: () => trail.newest(),
    pruneAudit: (...args) => trail.prune(...args),

    async check() {
      // A Redis that is full, cannot save, is a replica or lacks its replicas answers reads and rejects writes.
      const probes = Object.entries(PROBES).map(([name, probe]) =>
        evaluate(send, probe, [key(`check:${name}`)], [key('check')]),
      );
      await Promise.all([changes.sync(), ...probes]);
    },

    async close() {
      if (closed) return;
      closed = true;
      timers.clearInterval(timer);
      changes.close();
      stored.malformed.clear();
      carried.close();
      messages.close();
      await commands.close();
    },
  };
}
