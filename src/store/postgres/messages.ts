import { randomBytes } from 'node:crypto';
import { Listeners } from '../listeners.ts';
import { assertSendable, type MessageStore } from '../message-store.ts';
import { Replays, seal, unseal } from '../seal.ts';
import type { Notification } from './client.ts';
import type { Query } from './connection.ts';

/** A payload of NOTIFY that names a message in the table. */
const POSITION = /^\d{1,15}$/;
/** Notifications that wait for their message at most: twice what the table holds. */
const MAX_WAITING = 1000;

export interface MessagesOptions {
  readonly query: Query;
  /** The schema, as statements have it. */
  readonly schema: string;
  /** Name of the channel that all listen to; that of one handle begins with it. */
  readonly channel: string;
  /** Whether no NOTIFY reaches this handle, so that it reads the table. */
  readonly polls: () => boolean;
  /** The secret that the store holds; empty while unknown. */
  readonly secret: () => string;
  /** Called when there are more notifications than messages can be, so that some are dropped. */
  readonly flooded: () => void;
  /** The server's time, in milliseconds; `undefined` while unknown. */
  readonly serverTime: () => number | undefined;
}

/** Messages by NOTIFY, and by a table where they are too long for it or no NOTIFY arrives. */
export function createPostgresMessages(options: MessagesOptions) {
  const { query, schema, polls, secret, serverTime, flooded } = options;
  const address = randomBytes(12).toString('base64url');
  const channelOf = (to: string | null) => `${options.channel}:${to ?? 'messages'}`;
  const listeners = new Listeners<[message: string, from: string]>('messages');
  const replays = new Replays();
  let sent = 0;
  /** Position of the newest message that was read from the table. */
  let position: number | undefined;
  /** Notifications that were not passed on yet, in their order: some name a message that has to be fetched. */
  let waiting: { readonly payload: string; readonly to: string | null }[] = [];
  let isDelivering = false;

  function open(body: string, to: string | null): void {
    const now = serverTime();
    if (listeners.size === 0 || now === undefined) return;
    const opened = unseal(body, channelOf(to), secret());
    if (opened === undefined || opened.from === address || !replays.isNew(opened, now)) return;
    listeners.call(opened.text, opened.from);
  }

  /** Every role that can connect may notify, so one statement fetches the messages of all waiting notifications. */
  async function deliver(): Promise<void> {
    if (isDelivering) return;
    isDelivering = true;
    while (waiting.length > 0) {
      const notified = waiting;
      waiting = [];
      const positions = new Set(notified.map(({ payload }) => payload).filter((payload) => POSITION.test(payload)));
      const bodies = positions.size === 0 ? new Map() : await fetched([...positions]).catch(() => new Map());
      for (const { payload, to } of notified) open(POSITION.test(payload) ? (bodies.get(payload) ?? '') : payload, to);
    }
    isDelivering = false;
  }

  async function fetched(positions: readonly string[]): Promise<Map<string, string>> {
    const rows = await query(`SELECT position, body FROM ${schema}.message WHERE position = ANY($1::bigint[])`, [
      `{${positions}}`,
    ]);
    return new Map(rows.map(({ position, body }) => [String(position), body ?? '']));
  }

  const store: MessageStore = {
    address,

    async send(text, to) {
      assertSendable(text);
      const now = serverTime();
      if (secret() === '' || now === undefined) throw new Error('PostgreSQL has not been read yet');
      sent += 1;
      const channel = channelOf(to ?? null);
      const sealed = seal({ from: address, number: sent, at: Math.round(now), text }, channel, secret());
      await query(`SELECT ${schema}.send($1, $2, $3, $4)`, [channel, to ?? null, sealed, polls()]);
    },

    onMessage: (listener) => listeners.add(listener),
  };

  return {
    store,
    channels: [channelOf(null), channelOf(address)],

    hear({ channel, payload = '' }: Notification): void {
      if (listeners.size === 0) return;
      const to = channel === channelOf(null) ? null : address;
      if (waiting.length === MAX_WAITING) {
        flooded();
        return;
      }
      waiting.push({ payload, to });
      void deliver();
    },

    /** Read with the changes: where this handle polls, the messages since the last read; always the newest position. */
    aside: {
      column: `json_build_object(
        'newest', (SELECT max(m.position) FROM ${schema}.message m),
        'messages', (SELECT json_agg(json_build_array(m.recipient, m.body) ORDER BY m.position) FROM ${schema}.message m
          WHERE m.position > $2 AND (m.recipient IS NULL OR m.recipient = $3)))`,
      values: () => [polls() && listeners.size > 0 ? (position ?? null) : null, address],
      take(value: string | null): void {
        const { newest, messages } = JSON.parse(value ?? '{}') as {
          newest?: number;
          messages?: [string | null, string][];
        };
        // A crash empties the table and begins its positions again.
        position = position !== undefined && (newest ?? 0) < position ? 0 : (newest ?? 0);
        for (const [to, body] of messages ?? []) open(body, to);
      },
    },

    close: () => listeners.clear(),
  };
}
