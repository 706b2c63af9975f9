import { Listeners } from '../listeners.ts';
import { assertSendable, type MessageStore } from '../message-store.ts';
import { Replays, seal, unseal } from '../seal.ts';
import { evaluate, type Send } from './script.ts';

export interface RedisMessageStoreOptions {
  readonly key: (name: string) => string;
  /** Identifies this handle. */
  readonly writer: string;
  readonly send: Send;
  /** The secret that Redis holds; empty while unknown. */
  readonly secret: () => string;
  /** The time of Redis, in milliseconds; `undefined` while unknown. */
  readonly redisTime: () => number | undefined;
}

/** Messages by publish and subscribe. */
export interface RedisMessageStore extends MessageStore {
  /** The channels for all handles and for this one. */
  readonly channels: readonly string[];
  /** Handles a message of these channels. */
  hear(message: string, channel: string): void;
  close(): void;
}

/** A cluster client sends a bare PUBLISH to any node, and messages through several nodes overtake each other. */
const PUBLISH = "return redis.call('PUBLISH', ARGV[1], ARGV[2])";

export function createRedisMessageStore(options: RedisMessageStoreOptions): RedisMessageStore {
  const { key, writer, send, secret, redisTime } = options;
  const channelOf = (to?: string) => key(to === undefined ? 'messages' : `messages:${to}`);
  const listeners = new Listeners<[message: string, from: string]>('messages');
  const replays = new Replays();
  let sent = 0;

  return {
    address: writer,
    channels: [channelOf(), channelOf(writer)],

    async send(text, to) {
      assertSendable(text);
      const now = redisTime();
      if (secret() === '' || now === undefined) throw new Error('Redis has not been read yet');
      sent += 1;
      const channel = channelOf(to);
      const sealed = seal({ from: writer, number: sent, at: Math.round(now), text }, channel, secret());
      await evaluate(send, PUBLISH, [channelOf()], [channel, sealed]);
    },

    onMessage: (listener) => listeners.add(listener),

    hear(message, channel) {
      const now = redisTime();
      if (listeners.size === 0 || now === undefined) return;
      const opened = unseal(message, channel, secret());
      if (opened === undefined || opened.from === writer || !replays.isNew(opened, now)) return;
      listeners.call(opened.text, opened.from);
    },

    close: () => listeners.clear(),
  };
}
