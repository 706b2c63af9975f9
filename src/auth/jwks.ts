import type { CryptoKey, createLocalJWKSet, JSONWebKeySet, JWSHeaderParameters } from 'jose';
import type { Clock, Delay } from '../clock.ts';
import type { Condition } from '../conditions.ts';
import { RdcpError } from '../errors.ts';
import { readBounded } from './bounded-body.ts';
import { IssuerFault, issuerProblem } from './issuer-failure.ts';
import { loadJose } from './jose.ts';

export interface RemoteKeysOptions {
  readonly uri: string;
  readonly fetch: typeof globalThis.fetch;
  readonly clock: Clock;
  readonly delay: Delay;
  /** The setting that the address comes from, for messages. */
  readonly field: string;
  /** Holds while the issuer does not publish keys. A token cannot make it hold. */
  readonly condition: Condition;
}

/** How long a key set is used without asking again. */
const FRESH_MS = 10 * 60_000;
/** How long an old set is used while the issuer does not answer. */
const STALE_MS = 24 * 3_600_000;
/** Pause between two requests, also after one that failed and however many unknown key ids arrive. */
const COOLDOWN_MS = 30_000;
const TIMEOUT_MS = 3000;
const MAX_BYTES = 256 * 1024;

type LocalKeys = ReturnType<typeof createLocalJWKSet>;

/**
 * Keys that an issuer publishes (RFC 7517). jose's own remote set refuses every token once its copy is too old and the
 * issuer is away, and asks at once again after a failure; this one keeps what it has for a day, and pauses. After a
 * failure it goes on asking after each pause, so that the end of an outage is noticed without a request.
 * @returns `find`, the way from a token's header to its key. It rejects with `RDCP_UNAVAILABLE` while the issuer does not
 * answer and the key is not known, and with an error of jose for a token whose key does not exist
 */
export function createRemoteKeys({ uri, fetch, clock, delay, field, condition }: RemoteKeysOptions) {
  let keys: LocalKeys | undefined;
  let fetchedAt = Number.NEGATIVE_INFINITY;
  let triedAt = Number.NEGATIVE_INFINITY;
  let failure: unknown;
  let pending: Promise<void> | undefined;
  let closed = false;
  let cancelRetry = () => {};

  const load = async () => {
    let problem: string | undefined;
    try {
      const { createLocalJWKSet } = await loadJose();
      const published = await fetchKeys(uri, fetch);
      keys = createLocalJWKSet(published);
      fetchedAt = clock.monotonic();
      failure = undefined;
      // The issuer may have withdrawn them all, so none is kept; more likely it is a fault.
      problem = published.keys.length === 0 ? 'answers an empty key set' : undefined;
    } catch (cause) {
      failure = cause;
      problem = issuerProblem(cause);
    } finally {
      triedAt = clock.monotonic();
      pending = undefined;
      cancelRetry();
      if (problem === undefined) condition.end();
      else condition.begin(`${field} ${problem}`);
      if (!closed && problem !== undefined) cancelRetry = delay(COOLDOWN_MS, () => void refresh());
    }
  };

  /** Joins the request that is under way, or makes one unless the last is too recent. */
  const refresh = (): Promise<void> | undefined => {
    if (pending === undefined && clock.monotonic() - triedAt >= COOLDOWN_MS) pending = load();
    return pending;
  };

  const unavailable = () => {
    const seconds = Math.max(1, Math.ceil((triedAt + COOLDOWN_MS - clock.monotonic()) / 1000));
    return new RdcpError('RDCP_UNAVAILABLE', 'The token cannot be checked at the moment', {
      headers: { 'Retry-After': String(seconds) },
      cause: failure,
    });
  };

  const find = async (header: JWSHeaderParameters): Promise<CryptoKey> => {
    if (clock.monotonic() - fetchedAt >= FRESH_MS) await refresh();
    if (keys === undefined || clock.monotonic() - fetchedAt >= STALE_MS) throw unavailable();
    const { errors } = await loadJose();
    try {
      return await keys(header);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await refresh();
      return keys(header).catch((missing: unknown) => {
        throw failure !== undefined && missing instanceof errors.JWKSNoMatchingKey ? unavailable() : missing;
      });
    }
  };

  /** Asks before a token needs it. The pause is for tokens: the first one asks at once, whatever came of this. */
  const check = async (): Promise<void> => {
    if (closed || triedAt !== Number.NEGATIVE_INFINITY) return;
    await refresh();
    triedAt = Number.NEGATIVE_INFINITY;
  };

  return {
    find,
    check,
    close() {
      closed = true;
      cancelRetry();
    },
  };
}

async function fetchKeys(uri: string, fetch: RemoteKeysOptions['fetch']): Promise<JSONWebKeySet> {
  const response = await fetch(uri, {
    headers: { Accept: 'application/jwk-set+json, application/json' },
    // Keys come from the address that the operator named, and from nowhere that it points to.
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new IssuerFault(`answers with status ${response.status}`);
  }
  const text = await readBounded(response, MAX_BYTES);
  try {
    const { keys } = JSON.parse(text);
    if (Array.isArray(keys)) return { keys };
  } catch {}
  throw new IssuerFault('answers something that is no key set');
}
