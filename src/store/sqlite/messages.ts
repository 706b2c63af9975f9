import type { DatabaseSync } from 'node:sqlite';
import { Listeners } from '../listeners.ts';
import { assertSendable } from '../message-store.ts';
import { prepareRead } from './file.ts';
import { hostTime, IN_PASSING_MS, type SqliteHandle } from './handle.ts';

/** How long a message is kept, in milliseconds. Every process reads several times a second. */
const KEEP_MS = 2000;
const MAX_KEPT = 500;

export function prepareMessages(database: DatabaseSync) {
  const newest = prepareRead(database, 'SELECT coalesce(max(position), 0) AS position FROM message');
  return {
    newest: () => newest.get()?.position as bigint,
    write: database.prepare('INSERT INTO message (sender, recipient, sent_at, body) VALUES (?, ?, ?, ?)'),
    drop: database.prepare(
      `DELETE FROM message WHERE abs(? - sent_at) > ${KEEP_MS} OR position <= (SELECT max(position) FROM message) - ${MAX_KEPT}`,
    ),
    read: prepareRead(
      database,
      `SELECT position, sender, sent_at, body FROM message
       WHERE position > ? AND sender <> ? AND (recipient IS NULL OR recipient = ?) ORDER BY position`,
    ),
  };
}

/**
 * The file's permissions decide who may send.
 * @param writer identifies this handle
 * @param listening called when it begins to listen, and when it ends
 */
export function createSqliteMessages(
  handle: SqliteHandle<{ readonly messages: ReturnType<typeof prepareMessages> }>,
  writer: string,
  listening: () => void,
) {
  const listeners = new Listeners<[message: string, from: string]>('messages');
  let read = 0n;

  return {
    address: writer,

    get isListening() {
      return listeners.size > 0;
    },

    // A lost message is harmless.
    async send(message: string, to?: string) {
      assertSendable(message);
      await handle.write(({ messages }) => {
        const now = hostTime();
        messages.write.run(writer, to ?? null, now, message);
        messages.drop.run(now);
      }, IN_PASSING_MS);
    },

    onMessage(listener: (message: string, from: string) => void) {
      if (listeners.size === 0) {
        try {
          read = handle.statements().messages.newest();
        } catch {
          // The file is gone: nothing will be heard.
        }
      }
      const remove = listeners.add(listener);
      listening();
      return () => {
        remove();
        listening();
      };
    },

    poll() {
      if (listeners.size === 0) return;
      const { messages } = handle.statements();
      const rows = messages.read.all(read, writer, writer);
      read = (rows.at(-1)?.position ?? read) as bigint;
      const now = hostTime();
      for (const { sender, sent_at, body } of rows) {
        if (Math.abs(now - Number(sent_at)) <= KEEP_MS) listeners.call(String(body), String(sender));
      }
    },

    close: () => listeners.clear(),
  };
}
