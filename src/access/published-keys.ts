import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import type { Condition } from '../otel/report/conditions.ts';
import { SettingFault, settingProblem, unavailable } from '../wire/errors.ts';
import { parsedJson } from '../wire/json-text.ts';
import { send } from '../wire/net/request.ts';
import { trustedUri } from '../wire/net/trusted-uri.ts';
import type { Clock, Delay } from '../wire/time/clock.ts';
import { fits, isAlgorithm, isWeak } from './signature.ts';

export interface PublishedKeysOptions {
  readonly uri: string;
  readonly clock: Clock;
  readonly delay: Delay;
  readonly field: string;
  /** Holds while the issuer does not publish keys. Tokens do not affect it. */
  readonly condition: Condition;
}

/** The parts of a header that choose a key. */
export interface KeyHeader {
  readonly alg?: string | undefined;
  readonly kid?: string | undefined;
}

/** Delay before the first fetch, so that the application starts first, in milliseconds. */
const FIRST_FETCH_MS = 500;
const FRESH_MS = 10 * 60_000;
/** How long a stale key set is used while the issuer does not respond. */
const STALE_MS = 24 * 3_600_000;
/** Minimum pause between requests, even after failures and for unknown key ids. */
const COOLDOWN_MS = 30_000;
/** The same for a key id that no request was made for: its key may be new. One such request takes the place of a later one. */
const NEW_ID_COOLDOWN_MS = 5000;
const MAX_UNKNOWN = 1000;
const TIMEOUT_MS = 3000;
const MAX_BYTES = 256 * 1024;

interface PublishedKey extends KeyHeader {
  readonly key: KeyObject;
}

/** RFC 7517. A stale set is used for a day while the issuer is down. A timer tries again, so that the end of an outage is noticed. */
export class PublishedKeys {
  readonly #options: PublishedKeysOptions;
  #keys: readonly PublishedKey[] = [];
  #fetchedAt = Number.NEGATIVE_INFINITY;
  /** When a token last caused a request. */
  #triedAt = Number.NEGATIVE_INFINITY;
  /** When as many pauses will have passed as tokens caused requests. */
  #paidAt = Number.NEGATIVE_INFINITY;
  readonly #unknown = new Set<string | undefined>();
  #failure: unknown;
  #pending: Promise<void> | undefined;
  #closed = false;
  #cancelNext: () => void;

  constructor({ uri, ...options }: PublishedKeysOptions) {
    this.#options = { ...options, uri: trustedUri(uri, options.field) };
    this.#cancelNext = options.delay(FIRST_FETCH_MS, () => this.#fetchOnce());
  }

  /** Returns the loaded key for a header. Never fetches one. */
  loaded({ alg, kid }: KeyHeader): KeyObject | undefined {
    if (this.#isOlderThan(STALE_MS) || !isAlgorithm(alg)) return undefined;
    const [found, ...others] = this.#keys.filter(
      (each) => (kid === undefined || each.kid === kid) && (each.alg ?? alg) === alg && fits(each.key, alg),
    );
    return others.length > 0 ? undefined : found?.key;
  }

  /** Fetches the set if it is stale or lacks the key. @throws {RdcpError} `RDCP_UNAVAILABLE` while the issuer does not respond */
  async find(header: KeyHeader): Promise<KeyObject> {
    if (this.#isOlderThan(FRESH_MS)) await this.#refresh();
    if (this.#isOlderThan(STALE_MS)) throw this.#outage();
    const key = this.loaded(header);
    if (key !== undefined) return key;
    await this.#refreshFor(header.kid);
    const fetched = this.loaded(header);
    if (fetched !== undefined) return fetched;
    throw this.#failure === undefined ? new Error('no published key fits the token') : this.#outage();
  }

  close(): void {
    this.#closed = true;
    this.#cancelNext();
  }

  #isOlderThan(milliseconds: number): boolean {
    return this.#options.clock.monotonic() - this.#fetchedAt >= milliseconds;
  }

  /** Joins the pending request, or starts one unless a token caused one too recently. */
  #refresh(isNewId = false): Promise<void> | undefined {
    const now = this.#options.clock.monotonic();
    const early = isNewId && this.#failure === undefined && this.#paidAt - now <= COOLDOWN_MS;
    if (this.#pending === undefined && now - this.#triedAt >= (early ? NEW_ID_COOLDOWN_MS : COOLDOWN_MS)) {
      this.#triedAt = now;
      this.#paidAt = Math.max(this.#paidAt, now) + COOLDOWN_MS;
      void this.#fetchOnce();
    }
    return this.#pending;
  }

  async #refreshFor(id: string | undefined): Promise<void> {
    const fetching = this.#refresh(!this.#unknown.has(id));
    if (fetching === undefined) return;
    await fetching;
    if (this.#unknown.size >= MAX_UNKNOWN) this.#unknown.clear();
    this.#unknown.add(id);
  }

  #fetchOnce(): Promise<void> {
    this.#pending ??= this.#fetch().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  async #fetch(): Promise<void> {
    const { uri, clock, delay, field, condition } = this.#options;
    let problem: string | undefined;
    try {
      const published = await fetchKeySet(uri);
      this.#keys = published.flatMap(publishedKey);
      this.#fetchedAt = clock.monotonic();
      this.#failure = undefined;
      // Probably a fault of the issuer. The set is used, because it may have withdrawn all keys.
      if (published.length === 0) problem = 'answers with an empty key set';
    } catch (cause) {
      this.#failure = cause;
      problem = settingProblem(cause);
    }
    if (problem === undefined) condition.end();
    else condition.begin(`${field} ${problem}`);
    this.#cancelNext();
    if (!this.#closed) {
      this.#cancelNext = delay(problem === undefined ? FRESH_MS : COOLDOWN_MS, () => this.#fetchOnce());
    }
  }

  #outage() {
    const seconds = Math.max(1, Math.ceil((this.#triedAt + COOLDOWN_MS - this.#options.clock.monotonic()) / 1000));
    return unavailable('The token cannot be verified at the moment', this.#failure, seconds);
  }
}

/** Returns the key, or nothing if it is no public key for signatures. */
function publishedKey(jwk: JsonWebKey): PublishedKey[] {
  try {
    const { kid, alg, use = 'sig', key_ops: operations = ['verify'] } = jwk;
    if (use !== 'sig' || !(Array.isArray(operations) && operations.includes('verify'))) return [];
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    return isWeak(key) ? [] : [{ key, kid: kid as string | undefined, alg: alg as string | undefined }];
  } catch {
    return [];
  }
}

async function fetchKeySet(url: string): Promise<JsonWebKey[]> {
  const { status, text } = await send({
    url,
    headers: { Accept: 'application/jwk-set+json, application/json' },
    maxBytes: MAX_BYTES,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (status !== 200) throw new SettingFault(`answers with status ${status}`);
  if (text === undefined) throw new SettingFault(`answers more than ${MAX_BYTES} bytes`);
  const { keys } = Object(parsedJson(text));
  if (Array.isArray(keys)) return keys;
  throw new SettingFault('answers with an invalid key set');
}
