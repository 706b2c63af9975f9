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

interface Open extends Content {
  readonly until: number;
}

/** A store of codes that the processes of a cluster share. */
export interface CodeBoard {
  /** Keeps a value for the first process that asks for it, until a wall time. */
  handOver(key: string, value: string, until: number): void;
  take(key: string, now: number): string | undefined;
}

interface ConsoleCodesOptions {
  readonly clock: Pick<Clock, 'monotonic' | 'now'>;
  readonly delay: Delay;
  /** As text that a URL may hold. @default 256 random bits */
  readonly randomCode?: () => string;
  /** In a cluster the browser may reach another worker than the command did. `undefined` for this process alone. */
  readonly board: () => CodeBoard | undefined;
  readonly report: (error: unknown) => void;
}

/** Most codes of this process that wait for their browser. */
const MAX_CODES = { total: 64, perIdentity: 4 };

/**
 * One-time codes that stand for a credential for a minute. Kept under their hash, and in memory alone; in a cluster on its
 * board, sealed with the code itself, so that what is there is worth nothing without it.
 */
export class ConsoleCodes {
  readonly #options: ConsoleCodesOptions;
  readonly #open = new Map<string, Open>();
  readonly #forget = new Map<string, () => void>();
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
    const forget = () => {
      cancel();
      this.#forget.delete(hash);
      this.#open.delete(hash);
      free();
    };
    const cancel = delay(CONSOLE_CODE_SECONDS * 1000, () => this.#take(hash));
    this.#forget.set(hash, forget);
    if (!this.#handOver(hash, seal(code, { principal, credential }))) {
      const until = clock.monotonic() + CONSOLE_CODE_SECONDS * 1000;
      this.#open.set(hash, { principal, credential, until });
    }
    return code;
  }

  /** The credential of a code, once; `undefined` for a code that is not valid. */
  redeem(code: string): Content | undefined {
    const hash = hashOf(code);
    const found = this.#open.get(hash);
    const sealed = this.#take(hash);
    // A timer may be late.
    if (found !== undefined) return this.#options.clock.monotonic() < found.until ? found : undefined;
    return sealed === undefined ? undefined : unseal(code, sealed);
  }

  /** Forgets all. */
  clear(): void {
    for (const hash of [...this.#forget.keys()]) this.#take(hash);
  }

  /** @returns whether the other processes of the cluster can take it */
  #handOver(hash: string, sealed: string): boolean {
    const { board, clock, report } = this.#options;
    try {
      const shared = board();
      shared?.handOver(hash, sealed, clock.now() + CONSOLE_CODE_SECONDS * 1000);
      return shared !== undefined;
    } catch (error) {
      report(error);
      return false;
    }
  }

  /** Forgets a code here and on the board. @returns what the board had */
  #take(hash: string): string | undefined {
    const { board, clock, report } = this.#options;
    this.#forget.get(hash)?.();
    try {
      return board()?.take(hash, clock.now());
    } catch (error) {
      report(error);
      return undefined;
    }
  }
}

const randomText = () => randomBytes(32).toString('base64url');

const CIPHER = 'aes-256-gcm';
/** Each key seals one text. */
const IV = Buffer.alloc(12);

function seal(code: string, content: Content): string {
  const cipher = createCipheriv(CIPHER, digest('key', code), IV);
  const sealed = Buffer.concat([cipher.update(JSON.stringify(content)), cipher.final()]);
  return Buffer.concat([cipher.getAuthTag(), sealed]).toString('base64');
}

function unseal(code: string, text: string): Content {
  const bytes = Buffer.from(text, 'base64');
  const decipher = createDecipheriv(CIPHER, digest('key', code), IV).setAuthTag(bytes.subarray(0, 16));
  return JSON.parse(Buffer.concat([decipher.update(bytes.subarray(16)), decipher.final()]).toString());
}

function hashOf(code: string): string {
  return digest('name', code).toString('base64');
}

function digest(use: 'name' | 'key', code: string): Buffer {
  return createHash('sha256').update(`${use}\n${code}`).digest();
}
