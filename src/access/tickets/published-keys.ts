import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { settingProblem } from '../../wire/errors.ts';
import { COOLDOWN_MS, FRESH_MS, fetchKeySet, type RemoteKeysOptions, STALE_MS } from '../jwks.ts';
import { isWeak } from '../jwt-issuer.ts';
import { fits, isTicketAlgorithm, type TicketAlgorithm } from './signature.ts';

/** Delay before the first fetch, so that the application starts first, in milliseconds. */
const FIRST_FETCH_MS = 500;

interface PublishedKey {
  readonly key: KeyObject;
  /** `undefined`: any that fits the key. */
  readonly algorithm: TicketAlgorithm | undefined;
}

/** The keys that an issuer publishes (RFC 7517), fetched in the background and on a timer alone: no ticket causes a request. */
export class PublishedKeys {
  readonly #options: RemoteKeysOptions;
  #keys: ReadonlyMap<string, PublishedKey> = new Map();
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #closed = false;
  #cancel: () => void;

  constructor(options: RemoteKeysOptions) {
    this.#options = options;
    this.#cancel = options.delay(FIRST_FETCH_MS, () => void this.#fetch());
  }

  find(algorithm: TicketAlgorithm, kid: string | undefined): KeyObject | undefined {
    const found = kid === undefined ? undefined : this.#keys.get(kid);
    if (found === undefined || this.#options.clock.monotonic() - this.#fetchedAt >= STALE_MS) return undefined;
    return found.algorithm === undefined || found.algorithm === algorithm ? found.key : undefined;
  }

  close(): void {
    this.#closed = true;
    this.#cancel();
  }

  async #fetch(): Promise<void> {
    const { uri, clock, delay, field, condition } = this.#options;
    let next = FRESH_MS;
    try {
      const { keys } = await fetchKeySet(uri);
      this.#keys = new Map(keys.flatMap(publishedKey));
      this.#fetchedAt = clock.monotonic();
      condition.end();
    } catch (error) {
      condition.begin(`${field} ${settingProblem(error)}`);
      next = COOLDOWN_MS;
    }
    if (!this.#closed) this.#cancel = delay(next, () => void this.#fetch());
  }
}

/** Leaves out what is no key for signatures of tickets. */
function publishedKey(jwk: JsonWebKey): [kid: string, PublishedKey][] {
  try {
    const { kid, alg, use = 'sig' } = jwk;
    if (typeof kid !== 'string' || use !== 'sig') return [];
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    if (isWeak(key)) return [];
    if (alg === undefined) return [[kid, { key, algorithm: undefined }]];
    return isTicketAlgorithm(alg) && fits(key, alg) ? [[kid, { key, algorithm: alg }]] : [];
  } catch {
    return [];
  }
}
