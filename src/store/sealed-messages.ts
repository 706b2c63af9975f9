import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import type { ChangeFeed } from './lineage.ts';
import { Listeners } from './listeners.ts';
import { assertSendable, type MessageStore } from './message-store.ts';

export interface SealedMessagesOptions {
  readonly server: 'Redis' | 'PostgreSQL';
  readonly address: string;
  /** The channel of one handle, or of all. */
  readonly channelOf: (to?: string) => string;
  /** What was read of the server. */
  readonly known: Pick<ChangeFeed, 'secret' | 'time'>;
  readonly publish: (sealed: string, channel: string, to: string | undefined) => Promise<unknown>;
}

/** Messages through a server whose channels are open to others too. */
export class SealedMessages implements MessageStore {
  readonly address: string;
  /** The channels for all handles and for this one. */
  readonly channels: readonly string[];
  readonly #options: SealedMessagesOptions;
  readonly #listeners = new Listeners<[message: string, from: string]>('messages');
  readonly #replays = new Replays();
  #sent = 0;

  constructor(options: SealedMessagesOptions) {
    this.#options = options;
    this.address = options.address;
    this.channels = [options.channelOf(), options.channelOf(options.address)];
  }

  get isHeard(): boolean {
    return this.#listeners.size > 0;
  }

  async send(text: string, to?: string): Promise<void> {
    assertSendable(text);
    const { server, address, channelOf, publish } = this.#options;
    const { secret, time: now } = this.#options.known;
    if (secret === '' || now === undefined) throw new Error(`${server} has not been read yet`);
    this.#sent += 1;
    const channel = channelOf(to);
    const message = { from: address, number: this.#sent, at: Math.round(now), text };
    await publish(seal(message, channel, secret), channel, to);
  }

  onMessage(listener: (message: string, from: string) => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Handles a message of one of the channels, which anybody may have sent. */
  hear(message: string, channel: string): void {
    const { secret, time: now } = this.#options.known;
    if (!this.isHeard || now === undefined) return;
    const opened = unseal(message, channel, secret);
    if (opened === undefined || opened.from === this.address || !this.#replays.isNew(opened, now)) return;
    this.#listeners.call(opened.text, opened.from);
  }

  close(): void {
    this.#listeners.clear();
  }
}

// Messages between processes carry debug lines, and make processes collect them. A Redis user may be allowed to publish
// and subscribe on every channel but not to read keys, and every user of a PostgreSQL database may LISTEN and NOTIFY. So
// messages are encrypted and authenticated with the secret that lies with the state (AES-256-GCM): such a user can
// neither read nor make them.

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** How old a message may be when it arrives, in milliseconds. */
export const MAX_AGE_MS = 5000;

export interface Sealed {
  readonly from: string;
  /** Different for each message of a sender. */
  readonly number: number;
  /** When it was sent, on the clock of the store, in milliseconds. */
  readonly at: number;
  readonly text: string;
}

/** Seals a message for one channel. */
export function seal({ from, number, at, text }: Sealed, channel: string, secret: string): string {
  const head = `${from} ${number} ${at}`;
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, keyOf(secret), nonce).setAAD(Buffer.from(`${channel}\n${head}`));
  const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return `${head} ${sealed.toString('base64')}`;
}

/** Opens a message of a channel; `undefined` if it was not sealed with the secret, or for another channel. */
export function unseal(message: string, channel: string, secret: string): Sealed | undefined {
  const [from = '', number = '', at = '', sealed = ''] = message.split(' ', 4);
  const bytes = Buffer.from(sealed, 'base64');
  if (secret === '' || bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
  try {
    const decipher = createDecipheriv(ALGORITHM, keyOf(secret), bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(Buffer.from(`${channel}\n${from} ${number} ${at}`));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
    return { from, number: Number(number), at: Number(at), text };
  } catch {
    return undefined;
  }
}

/** Recognizes messages that were recorded and published again. */
class Replays {
  /** Messages since the last change of generations, and of the generation before. */
  #recent = new Set<string>();
  #older = new Set<string>();
  #since = Number.NEGATIVE_INFINITY;

  /** @param now on the clock of the store. @returns whether the message is recent, and new */
  isNew({ from, number, at }: Sealed, now: number): boolean {
    if (Math.abs(now - at) > MAX_AGE_MS) return false;
    // A message may be from a clock that is ahead by its greatest age.
    if (Math.abs(now - this.#since) > 2 * MAX_AGE_MS) {
      this.#older = this.#recent;
      this.#recent = new Set();
      this.#since = now;
    }
    const id = `${from} ${number}`;
    if (this.#recent.has(id) || this.#older.has(id)) return false;
    this.#recent.add(id);
    return true;
  }
}

function keyOf(secret: string): Buffer {
  return createHmac('sha256', secret).update('messages').digest();
}
