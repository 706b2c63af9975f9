import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { identityKey, type Principal } from '../../access/principal.ts';
import { CONSOLE_CODE_SECONDS } from '../../wire/constants.ts';
import type { ConsoleSessionResponse } from '../../wire/messages.ts';
import type { Clock, Delay } from '../../wire/time/clock.ts';
import { StreamPlaces } from '../streams/places.ts';

export type HandedOver = ConsoleSessionResponse['credential'];

interface Content {
  readonly principal: Principal;
  readonly credential: HandedOver;
}

interface Sealed extends Content {
  /** Wall time, milliseconds since the epoch. */
  readonly until: number;
}

/** The private folder that the processes of a cluster share. */
export interface SharedFolder {
  put(name: string, text: string): boolean;
  /** Removes a file. Only one process gets its text. */
  take(name: string): string | undefined;
}

interface ConsoleCodesOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly delay: Delay;
  /** As text that a URL may hold. @default 256 random bits */
  readonly randomCode?: () => string;
  /** In a cluster the browser may reach another worker than the command did. `undefined` for this process alone. */
  readonly shared: () => SharedFolder | undefined;
  readonly report: (error: unknown) => void;
}

/** Most codes of this process that wait for their browser. */
const MAX_CODES = { total: 64, perIdentity: 4 };

/**
 * One-time codes that stand for a credential for a minute. Kept under their hash, in memory or in the folder of a cluster, and
 * sealed with the code itself, so that what is there is worth nothing without it.
 */
export class ConsoleCodes {
  readonly #options: ConsoleCodesOptions;
  /** Codes of this process by their hash. Those in the folder have no text here. */
  readonly #open = new Map<string, { readonly sealed: string | undefined; readonly forget: () => void }>();
  readonly #places = new StreamPlaces({ name: 'one-time codes', ...MAX_CODES });

  constructor(options: ConsoleCodesOptions) {
    this.#options = options;
  }

  /** @throws {RdcpError} `RDCP_RATE_LIMITED` when there are too many already */
  issue(principal: Principal, credential: HandedOver): string {
    const { clock, delay, randomCode = randomText } = this.#options;
    const free = this.#places.take({ identity: identityKey(principal) });
    const code = randomCode();
    const hash = hashOf(code);
    const sealed = seal(code, { principal, credential, until: clock.now() + CONSOLE_CODE_SECONDS * 1000 });
    const isInFolder = this.#inFolder((folder) => folder.put(fileOf(hash), sealed)) === true;
    const cancel = delay(CONSOLE_CODE_SECONDS * 1000, () => this.#take(hash));
    const forget = () => {
      cancel();
      this.#open.delete(hash);
      free();
    };
    this.#open.set(hash, { sealed: isInFolder ? undefined : sealed, forget });
    return code;
  }

  /** The credential of a code, once; `undefined` for a code that is not valid. */
  redeem(code: string): Content | undefined {
    const sealed = this.#take(hashOf(code));
    const found = sealed === undefined ? undefined : unseal(code, sealed);
    // A timer may be late.
    return found !== undefined && this.#options.clock.now() < found.until ? found : undefined;
  }

  /** Forgets all. */
  clear(): void {
    for (const hash of [...this.#open.keys()]) this.#take(hash);
  }

  /** Forgets a code. @returns what was kept of it */
  #take(hash: string): string | undefined {
    const own = this.#open.get(hash);
    own?.forget();
    return own?.sealed ?? this.#inFolder((folder) => folder.take(fileOf(hash)));
  }

  /** @returns `undefined` without a folder, or where it fails */
  #inFolder<T>(work: (folder: SharedFolder) => T): T | undefined {
    const { shared, report } = this.#options;
    try {
      const folder = shared();
      return folder && work(folder);
    } catch (error) {
      report(error);
      return undefined;
    }
  }
}

const fileOf = (hash: string) => `code-${hash}`;
const randomText = () => randomBytes(32).toString('base64url');

const CIPHER = 'aes-256-gcm';
/** Each key seals one text. */
const IV = Buffer.alloc(12);

function seal(code: string, content: Sealed): string {
  const cipher = createCipheriv(CIPHER, digest('key', code), IV);
  const sealed = Buffer.concat([cipher.update(JSON.stringify(content)), cipher.final()]);
  return Buffer.concat([cipher.getAuthTag(), sealed]).toString('base64');
}

function unseal(code: string, text: string): Sealed {
  const bytes = Buffer.from(text, 'base64');
  const decipher = createDecipheriv(CIPHER, digest('key', code), IV).setAuthTag(bytes.subarray(0, 16));
  return JSON.parse(Buffer.concat([decipher.update(bytes.subarray(16)), decipher.final()]).toString());
}

function hashOf(code: string): string {
  return digest('name', code).toString('base64url');
}

function digest(use: 'name' | 'key', code: string): Buffer {
  return createHash('sha256').update(`${use}\n${code}`).digest();
}
