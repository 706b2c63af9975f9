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

/** The key set that an issuer publishes (RFC 7517). A stale set is used for a day while the issuer is down. A timer tries again, so that the end of an outage is noticed. */
export function publishedKeys({ uri: configured, clock, delay, field, condition }: PublishedKeysOptions) {
  const uri = trustedUri(configured, field);
  let keys: readonly PublishedKey[] = [];
  let fetchedAt = Number.NEGATIVE_INFINITY;
  /** When a token last caused a request. */
  let triedAt = Number.NEGATIVE_INFINITY;
  /** When as many pauses will have passed as tokens caused requests. */
  let paidAt = Number.NEGATIVE_INFINITY;
  const unknown = new Set<string | undefined>();
  let failure: unknown;
  let pending: Promise<void> | undefined;
  let closed = false;
  let cancelNext = delay(FIRST_FETCH_MS, fetchOnce);

  /** Returns the loaded key for a header. Never fetches one. */
  function loaded({ alg, kid }: KeyHeader): KeyObject | undefined {
    if (isOlderThan(STALE_MS) || !isAlgorithm(alg)) return undefined;
    const [found, ...others] = keys.filter(
      (each) => (kid === undefined || each.kid === kid) && (each.alg ?? alg) === alg && fits(each.key, alg),
    );
    return others.length > 0 ? undefined : found?.key;
  }

  /** Fetches the set if it is stale or lacks the key. @throws {RdcpError} `RDCP_UNAVAILABLE` while the issuer does not respond */
  async function find(header: KeyHeader): Promise<KeyObject> {
    if (isOlderThan(FRESH_MS)) await refresh();
    if (isOlderThan(STALE_MS)) throw outage();
    const key = loaded(header);
    if (key !== undefined) return key;
    await refreshFor(header.kid);
    const fetched = loaded(header);
    if (fetched !== undefined) return fetched;
    throw failure === undefined ? new Error('no published key fits the token') : outage();
  }

  function isOlderThan(milliseconds: number): boolean {
    return clock.monotonic() - fetchedAt >= milliseconds;
  }

  /** Joins the pending request, or starts one unless a token caused one too recently. */
  function refresh(isNewId = false): Promise<void> | undefined {
    const now = clock.monotonic();
    const early = isNewId && failure === undefined && paidAt - now <= COOLDOWN_MS;
    if (pending === undefined && now - triedAt >= (early ? NEW_ID_COOLDOWN_MS : COOLDOWN_MS)) {
      triedAt = now;
      paidAt = Math.max(paidAt, now) + COOLDOWN_MS;
      void fetchOnce();
    }
    return pending;
  }

  async function refreshFor(id: string | undefined): Promise<void> {
    const fetching = refresh(!unknown.has(id));
    if (fetching === undefined) return;
    await fetching;
    if (unknown.size >= MAX_UNKNOWN) unknown.clear();
    unknown.add(id);
  }

  function fetchOnce(): Promise<void> {
    pending ??= load().finally(() => {
      pending = undefined;
    });
    return pending;
  }

  async function load(): Promise<void> {
    let problem: string | undefined;
    try {
      const published = await fetchKeySet(uri);
      keys = published.flatMap(publishedKey);
      fetchedAt = clock.monotonic();
      failure = undefined;
      // Probably a fault of the issuer. The set is used, because it may have withdrawn all keys.
      if (published.length === 0) problem = 'answers with an empty key set';
    } catch (cause) {
      failure = cause;
      problem = settingProblem(cause);
    }
    if (problem === undefined) condition.end();
    else condition.begin(`${field} ${problem}`);
    cancelNext();
    if (!closed) {
      cancelNext = delay(problem === undefined ? FRESH_MS : COOLDOWN_MS, fetchOnce);
    }
  }

  function outage() {
    const seconds = Math.max(1, Math.ceil((triedAt + COOLDOWN_MS - clock.monotonic()) / 1000));
    return unavailable('The token cannot be verified at the moment', failure, seconds);
  }

  return {
    loaded,
    find,
    close(): void {
      closed = true;
      cancelNext();
    },
  };
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
