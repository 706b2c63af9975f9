import type { DatabaseSync } from 'node:sqlite';
import { hostTime } from './host-time.ts';
import { assertSendable, MessageListeners } from './message-listeners.ts';
import type { MessageStore } from './message-store.ts';
import type { SqliteHandle } from './sqlite-handle.ts';

/** How long a message is kept, in milliseconds. Every process reads several times a second. */
const KEEP_MS = 2000;
/** Most messages kept. */
const MAX_KEPT = 500;

export interface MessageStatements {
  readonly messages: ReturnType<typeof prepareMessages>;
}

export interface SqliteMessagesOptions {
  readonly handle: SqliteHandle<MessageStatements>;
  /** Identifies this handle. */
  readonly writer: string;
  /** Called when it begins to listen, and when it ends. */
  readonly listening: () => void;
}

/** Messages in a table of a SQLite file, as seen by the store of the same handle. */
export interface SqliteMessages extends MessageStore {
  readonly isListening: boolean;
  /** Called when another process has written to the file. */
  look(): void;
  close(): void;
}

/** A lost message is harmless, and nothing is synced for it. */
const IN_PASSING = { sync: false, urgency: 'background' } as const;

export function prepareMessages(database: DatabaseSync) {
  const newest = database.prepare('SELECT coalesce(max(position), 0) AS position FROM message');
  return {
    newest: () => Number(newest.get()?.position),
    write: database.prepare('INSERT INTO message (sender, recipient, sent_at, body) VALUES (?, ?, ?, ?)'),
    drop: database.prepare(
      `DELETE FROM message WHERE abs(? - sent_at) > ${KEEP_MS} OR position <= (SELECT max(position) FROM message) - ${MAX_KEPT}`,
    ),
    read: database.prepare(
      `SELECT position, sender, sent_at, body FROM message
       WHERE position > ? AND sender <> ? AND (recipient IS NULL OR recipient = ?) ORDER BY position`,
    ),
  };
}

/** The file's permissions decide who may send. */
export function createSqliteMessages({ handle, writer, listening }: SqliteMessagesOptions): SqliteMessages {
  const listeners = new MessageListeners();
  let read = 0;

  return {
    address: writer,

    get isListening() {
      return listeners.size > 0;
    },

    async send(message, to) {
      assertSendable(message);
      await handle.write(({ messages }) => {
        const now = hostTime();
        messages.write.run(writer, to ?? null, now, message);
        messages.drop.run(now);
      }, IN_PASSING);
    },

    onMessage(listener) {
      if (listeners.size === 0) {
        try {
          read = handle.statements().messages.newest();
        } catch {
          // The file is away. Old messages are recognized by their time.
          read = 0;
        }
      }
      const remove = listeners.add(listener);
      listening();
      return () => {
        remove();
        listening();
      };
    },

    look() {
      if (listeners.size === 0) return;
      const { messages } = handle.statements();
      const newest = messages.newest();
      if (newest === read) return;
      // The table of another file begins anew.
      const rows = messages.read.all(newest < read ? 0 : read, writer, writer);
      read = newest;
      const now = hostTime();
      for (const { sender, sent_at, body } of rows) {
        if (Math.abs(now - Number(sent_at)) <= KEEP_MS) listeners.hear(String(body), String(sender));
      }
    },

    close: () => listeners.clear(),
  };
}
