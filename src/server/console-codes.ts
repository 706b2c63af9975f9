import { createHash } from 'node:crypto';
import { identityKey, type Principal } from '../auth/principal.ts';
import type { Clock, Delay } from '../clock.ts';
import { CONSOLE_CODE_SECONDS } from '../protocol/constants.ts';
import type { ConsoleSessionResponse } from '../protocol/messages.ts';
import { StreamPlaces } from './stream-places.ts';

export type HandedOver = ConsoleSessionResponse['credential'];

interface Open {
  readonly principal: Principal;
  readonly credential: HandedOver;
  readonly until: number;
  readonly forget: () => void;
}

export interface ConsoleCodesOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly delay: Delay;
  /** 256 random bits, as text that a URL may hold. */
  readonly randomCode: () => string;
}

/** Most codes that wait for their browser. */
const MAX_CODES = { total: 64, perIdentity: 4 };

/** One-time codes that stand for a credential for a minute. Kept under their hash, and in memory alone. */
export class ConsoleCodes {
  readonly #options: ConsoleCodesOptions;
  readonly #open = new Map<string, Open>();
  readonly #places = new StreamPlaces({ name: 'one-time codes', ...MAX_CODES });

  constructor(options: ConsoleCodesOptions) {
    this.#options = options;
  }

  /** @throws {RdcpError} `RDCP_RATE_LIMITED` when there are too many already */
  issue(principal: Principal, credential: HandedOver): string {
    const { clock, delay, randomCode } = this.#options;
    const free = this.#places.take(identityKey(principal));
    const code = randomCode();
    const hash = hashOf(code);
    const forget = () => {
      cancel();
      this.#open.delete(hash);
      free();
    };
    const cancel = delay(CONSOLE_CODE_SECONDS * 1000, forget);
    const until = clock.monotonic() + CONSOLE_CODE_SECONDS * 1000;
    this.#open.set(hash, { principal, credential, until, forget });
    return code;
  }

  /** The credential of a code, once; `undefined` for a code that is not valid. */
  redeem(code: string): Pick<Open, 'principal' | 'credential'> | undefined {
    const found = this.#open.get(hashOf(code));
    found?.forget();
    // A timer may be late.
    return found !== undefined && this.#options.clock.monotonic() < found.until ? found : undefined;
  }

  /** Forgets all. */
  clear(): void {
    for (const { forget } of [...this.#open.values()]) forget();
  }
}

function hashOf(code: string): string {
  return createHash('sha256').update(code).digest('base64');
}
