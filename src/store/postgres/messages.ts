import { randomBytes } from 'node:crypto';
import { SealedMessages, type SealedMessagesOptions } from '../sealed-messages.ts';
import type { Notification } from './client.ts';
import type { Query } from './connection.ts';

/** A payload of NOTIFY that names a message in the table. */
const POSITION = /^\d{1,15}$/;
/** Notifications that wait for their message at most: twice what the table holds. */
const MAX_WAITING = 1000;

export interface MessagesOptions extends Pick<SealedMessagesOptions, 'known'> {
  readonly query: Query;
  readonly schema: string;
  /** Name of the channel that all listen to; that of one handle begins with it. */
  readonly channel: string;
  /** Whether no NOTIFY reaches this handle, so that it reads the table. */
  readonly polls: () => boolean;
  /** Called when there are more notifications than messages can be, so that some are dropped. */
  readonly flooded: () => void;
}

/** Messages by NOTIFY, and by a table where they are too long for it or no NOTIFY arrives. */
export function createPostgresMessages({ query, schema, channel, polls, flooded, known }: MessagesOptions) {
  const channelOf = (to?: string) => `${channel}:${to ?? 'messages'}`;
  const messages = new SealedMessages({
    known,
    server: 'PostgreSQL',
    address: randomBytes(12).toString('base64url'),
    channelOf,
    publish: (sealed, to, receiver) =>
      query(`SELECT ${schema}.send($1, $2, $3, $4)`, [to, receiver ?? null, sealed, polls()]),
  });
  /** Position of the newest message that was read from the table. */
  let position: number | undefined;
  /** Notifications that were not passed on yet, in their order: some name a message that has to be fetched. */
  let waiting: { readonly payload: string; readonly channel: string }[] = [];
  let isDelivering = false;

  /** Every role that can connect may notify, so one statement fetches the messages of all waiting notifications. */
  async function deliver(): Promise<void> {
    if (isDelivering) return;
    isDelivering = true;
    while (waiting.length > 0) {
      const notified = waiting;
      waiting = [];
      const positions = new Set(notified.map(({ payload }) => payload).filter((payload) => POSITION.test(payload)));
      const bodies = positions.size === 0 ? new Map() : await fetched([...positions]).catch(() => new Map());
      for (const { payload, channel } of notified)
        messages.hear(POSITION.test(payload) ? (bodies.get(payload) ?? '') : payload, channel);
    }
    isDelivering = false;
  }

  async function fetched(positions: readonly string[]): Promise<Map<string, string>> {
    const rows = await query(`SELECT position, body FROM ${schema}.message WHERE position = ANY($1::bigint[])`, [
      `{${positions}}`,
    ]);
    return new Map(rows.map(({ position, body }) => [String(position), body ?? '']));
  }

  return {
    store: messages,

    hear({ channel, payload = '' }: Notification): void {
      if (!messages.isHeard) return;
      if (waiting.length === MAX_WAITING) {
        flooded();
        return;
      }
      waiting.push({ payload, channel });
      void deliver();
    },

    /** Read with the changes: where this handle polls, the messages since the last read; always the newest position. */
    aside: {
      column: `json_build_object(
        'newest', (SELECT max(m.position) FROM ${schema}.message m),
        'messages', (SELECT json_agg(json_build_array(m.recipient, m.body) ORDER BY m.position) FROM ${schema}.message m
          WHERE m.position > $2 AND (m.recipient IS NULL OR m.recipient = $3)))`,
      values: () => [polls() && messages.isHeard ? (position ?? null) : null, messages.address],
      receive(value: string | null): void {
        const { newest, messages: found } = JSON.parse(value ?? '{}') as {
          newest?: number;
          messages?: [string | null, string][];
        };
        // A crash empties the table and begins its positions again.
        position = position !== undefined && (newest ?? 0) < position ? 0 : (newest ?? 0);
        for (const [to, body] of found ?? []) messages.hear(body, channelOf(to ?? undefined));
      },
    },
  };
}
