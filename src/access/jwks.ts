import type { CryptoKey, createLocalJWKSet, JSONWebKeySet, JWSHeaderParameters } from 'jose';
import type { Condition } from '../otel/report/conditions.ts';
import { SettingFault, settingProblem, unavailable } from '../wire/errors.ts';
import { send } from '../wire/net/request.ts';
import type { Clock, Delay } from '../wire/time/clock.ts';
import { loadJose } from './jose.ts';

export interface RemoteKeysOptions {
  readonly uri: string;
  readonly clock: Clock;
  readonly delay: Delay;
  /** Name of the address's setting, for messages. */
  readonly field: string;
  /** Holds while the issuer does not publish keys. Tokens do not affect it. */
  readonly condition: Condition;
}

/** How long a key set is fresh. */
export const FRESH_MS = 10 * 60_000;
/** How long a stale key set is used while the issuer does not respond. */
export const STALE_MS = 24 * 3_600_000;
/** Minimum pause between requests, even after failures and for unknown key ids. */
export const COOLDOWN_MS = 30_000;
/** The same for a key id that no request was made for: its key may be new. One such request takes the place of a later one. */
const NEW_ID_COOLDOWN_MS = 5000;
/** Unknown key ids that are remembered. */
const MAX_UNKNOWN = 1000;
const TIMEOUT_MS = 3000;
const MAX_BYTES = 256 * 1024;

type LocalKeys = ReturnType<typeof createLocalJWKSet>;

/**
 * Fetches an issuer's published keys (RFC 7517). Unlike jose's remote key set, it uses a stale set for a day while the issuer
 * is down, and pauses between requests. After a failure it retries without waiting for a token, so that it detects the end of
 * an outage.
 * @returns `find` resolves with the key of a token's header. It rejects with `RDCP_UNAVAILABLE` for an unknown key while the
 * issuer does not respond, and with an error of jose for a key that does not exist
 */
export function createRemoteKeys({ uri, clock, delay, field, condition }: RemoteKeysOptions) {
  let keys: LocalKeys | undefined;
  let fetchedAt = Number.NEGATIVE_INFINITY;
  let triedAt = Number.NEGATIVE_INFINITY;
  /** When as many pauses will have passed as requests were made. */
  let paidAt = Number.NEGATIVE_INFINITY;
  const unknown = new Set<string | undefined>();
  let failure: unknown;
  let pending: Promise<void> | undefined;
  let closed = false;
  let cancelRetry = () => {};

  const load = async () => {
    let problem: string | undefined;
    paidAt = Math.max(paidAt, clock.monotonic()) + COOLDOWN_MS;
    try {
      const { createLocalJWKSet } = await loadJose();
      const published = await fetchKeySet(uri);
      keys = createLocalJWKSet(published);
      fetchedAt = clock.monotonic();
      failure = undefined;
      // Probably a fault of the issuer. The set is used, because it may have withdrawn all keys.
      problem = published.keys.length === 0 ? 'answers with an empty key set' : undefined;
    } catch (cause) {
      failure = cause;
      problem = settingProblem(cause);
    } finally {
      triedAt = clock.monotonic();
      pending = undefined;
      cancelRetry();
      if (problem === undefined) condition.end();
      else condition.begin(`${field} ${problem}`);
      if (!closed && problem !== undefined) cancelRetry = delay(COOLDOWN_MS, () => void refresh());
    }
  };

  /** Joins the pending request, or starts one unless the last is too recent. */
  const refresh = (isNewId = false): Promise<void> | undefined => {
    const now = clock.monotonic();
    const early = isNewId && failure === undefined && paidAt - now <= COOLDOWN_MS;
    if (now - triedAt >= (early ? NEW_ID_COOLDOWN_MS : COOLDOWN_MS)) pending ??= load();
    return pending;
  };

  /** Fetches the keys because of an id that they do not have. */
  const refreshFor = async (id: string | undefined) => {
    const fetching = refresh(!unknown.has(id));
    if (fetching === undefined) return;
    await fetching;
    if (unknown.size >= MAX_UNKNOWN) unknown.clear();
    unknown.add(id);
  };

  const outage = () => {
    const seconds = Math.max(1, Math.ceil((triedAt + COOLDOWN_MS - clock.monotonic()) / 1000));
    return unavailable('The token cannot be verified at the moment', failure, seconds);
  };

  const find = async (header: JWSHeaderParameters): Promise<CryptoKey> => {
    if (clock.monotonic() - fetchedAt >= FRESH_MS) await refresh();
    if (keys === undefined || clock.monotonic() - fetchedAt >= STALE_MS) throw outage();
    const { errors } = await loadJose();
    try {
      return await keys(header);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await refreshFor(header.kid);
      return keys(header).catch((missing: unknown) => {
        throw failure !== undefined && missing instanceof errors.JWKSNoMatchingKey ? outage() : missing;
      });
    }
  };

  /** Fetches the keys before the first token. The first token is not subject to the pause after it. */
  const check = async (): Promise<void> => {
    if (closed || triedAt !== Number.NEGATIVE_INFINITY) return;
    await refresh();
    triedAt = Number.NEGATIVE_INFINITY;
    paidAt = Number.NEGATIVE_INFINITY;
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

/** @throws {SettingFault} without a valid key set */
export async function fetchKeySet(url: string): Promise<JSONWebKeySet> {
  const { status, text } = await send({
    url,
    headers: { Accept: 'application/jwk-set+json, application/json' },
    maxBytes: MAX_BYTES,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (status !== 200) throw new SettingFault(`answers with status ${status}`);
  if (text === undefined) throw new SettingFault(`answers more than ${MAX_BYTES} bytes`);
  try {
    const { keys } = JSON.parse(text);
    if (Array.isArray(keys)) return { keys };
  } catch {}
  throw new SettingFault('answers with an invalid key set');
}
