import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';

// Messages between processes carry debug lines, and make processes collect them. A Redis user may be allowed to publish
// and subscribe on every channel but not to read keys, and every user of a PostgreSQL database may LISTEN and NOTIFY. So
// messages are encrypted and authenticated with the secret that lies with the state (AES-256-GCM): such a user can
// neither read nor make them.

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** How old a message may be when it arrives, in milliseconds. */
export const MAX_AGE_MS = 5000;

/** A message and its origin. */
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
export class Replays {
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

let known: { readonly secret: string; readonly key: Buffer } | undefined;

function keyOf(secret: string): Buffer {
  if (known?.secret !== secret) known = { secret, key: createHmac('sha256', secret).update('messages').digest() };
  return known.key;
}
