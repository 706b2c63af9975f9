import { createPublicKey, createSecretKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import type { JwtIssuerOptions } from '../options/options.ts';
import type { Condition, Conditions } from '../otel/report/conditions.ts';
import type { Limits } from '../wire/allow.ts';
import { configurationError, SettingFault, settingProblem, unavailable } from '../wire/errors.ts';
import { parsedJson } from '../wire/json-text.ts';
import { send } from '../wire/net/request.ts';
import { trustedUri } from '../wire/net/trusted-uri.ts';
import type { Clock, Delay } from '../wire/time/clock.ts';
import { fits, isAlgorithm, isWeak, MIN_RSA_BITS } from './jws.ts';
import { claimNames } from './jwt-claims.ts';
import type { Principal } from './principal.ts';

export interface RemoteSurroundings extends Pick<PublishedKeysOptions, 'clock' | 'delay'> {
  readonly conditions: Pick<Conditions, 'watch'>;
}

export interface TrustedIssuer {
  readonly issuer: string;
  readonly audience: string[];
  readonly algorithms: string[];
  readonly scopeClaims: readonly string[];
  readonly tenantClaim: string;
  readonly tenantsClaim: string;
  readonly allowClaim: string;
  readonly limits?: Limits;
  /** Claim with the id of the API key that a token was issued for. Only in our own tokens. */
  readonly keyClaim?: string;
  key(header: KeyHeader): KeyObject | Promise<KeyObject>;
  /** Checks each use of a token, even if its verification is cached. @throws {RdcpError} `RDCP_AUTH_FAILED` if it was revoked */
  admit?(principal: Principal): Promise<Principal>;
  close?(): void;
}

/** A key for HS256 must be at least as long as the hash (RFC 7518, section 3.2). */
const MIN_SECRET_BYTES = 32;

/** @param own this server, if it issues tokens @throws {RdcpError} `RDCP_CONFIG_INVALID` without a secret */
export function trustIssuers(
  issuers: readonly JwtIssuerOptions[],
  remote: RemoteSurroundings,
  own?: TrustedIssuer,
): ReadonlyMap<string, TrustedIssuer> {
  const trusted = new Map(own && [[own.issuer, own]]);
  const fieldOf = (index: number) => (issuers.length === 1 ? 'security.jwt' : `security.jwt.${index}`);
  addIssuers(trusted, issuers, fieldOf, (issuer, field) => trust(issuer, field, remote));
  return trusted;
}

/** Adds issuers by name. If one of them cannot be used, those before it stop fetching their keys. */
export function addIssuers<Settings extends { readonly issuer: string }, Issuer extends { close?(): void }>(
  issuers: Map<string, Issuer>,
  settings: readonly Settings[],
  fieldOf: (index: number) => string,
  make: (settings: Settings, field: string) => Issuer,
): void {
  try {
    for (const [index, each] of settings.entries()) {
      const field = fieldOf(index);
      if (issuers.has(each.issuer)) throw configurationError(`${field}.issuer`, 'is used by an earlier issuer');
      issuers.set(each.issuer, make(each, field));
    }
  } catch (error) {
    for (const { close } of issuers.values()) close?.();
    throw error;
  }
}

function trust(issuer: JwtIssuerOptions, field: string, remote: RemoteSurroundings): TrustedIssuer {
  return {
    issuer: issuer.issuer,
    audience: typeof issuer.audience === 'string' ? [issuer.audience] : [...issuer.audience],
    algorithms: [...issuer.algorithms],
    ...claimNames(issuer),
    ...keysOf(issuer, field, remote),
  };
}

function keysOf(
  { secret, publicKey, jwksUri, algorithms }: JwtIssuerOptions,
  field: string,
  remote: RemoteSurroundings,
): Pick<TrustedIssuer, 'key' | 'close'> {
  const sources = [secret, publicKey, jwksUri].filter((source) => source !== undefined);
  if (sources.length !== 1) throw configurationError(field, 'must hold one of secret, publicKey and jwksUri');
  // An issuer that took both kinds would accept a token signed with its own public key as the shared secret.
  const wrong = algorithms.find((name) => (name === 'HS256') !== (secret !== undefined));
  if (wrong !== undefined)
    throw configurationError(`${field}.algorithms`, `must not hold ${wrong} with this kind of key`);
  if (secret !== undefined) {
    const key = secretKey(secret, `${field}.secret`);
    return { key: () => key };
  }
  const { fixed, find, close } = issuerKeys({ publicKey, jwksUri }, field, remote);
  const unsupported = fixed && algorithms.find((name) => !fits(fixed, name));
  if (unsupported !== undefined) throw configurationError(`${field}.publicKey`, `must be a key for ${unsupported}`);
  return { key: find, close };
}

/** The key of an issuer, or those that it publishes. @throws {RdcpError} `RDCP_CONFIG_INVALID` */
export function issuerKeys(
  { publicKey, jwksUri = '' }: Pick<JwtIssuerOptions, 'publicKey' | 'jwksUri'>,
  field: string,
  { conditions, clock, delay }: RemoteSurroundings,
) {
  if (publicKey !== undefined) {
    const key = readPublicKey(publicKey, `${field}.publicKey`);
    return { fixed: key, find: () => key, loaded: () => key, close: () => {} };
  }
  const source = { uri: jwksUri, field: `${field}.jwksUri`, clock, delay, condition: conditions.watch('jwks') };
  return { fixed: undefined, ...publishedKeys(source) };
}

export function secretKey(secret: string, field: string): KeyObject {
  const bytes = Buffer.from(secret, 'utf8');
  if (bytes.length < MIN_SECRET_BYTES) throw configurationError(field, `must hold at least ${MIN_SECRET_BYTES} bytes`);
  return createSecretKey(bytes);
}

function readPublicKey(pem: string, field: string): KeyObject {
  if (pem.includes('PRIVATE KEY')) throw configurationError(field, 'must be a public key, not a private one');
  const key = readPem(pem, field);
  if (isWeak(key)) throw configurationError(field, `must have at least ${MIN_RSA_BITS} bits`);
  return key;
}

function readPem(pem: string, field: string): KeyObject {
  try {
    return createPublicKey(pem);
  } catch (cause) {
    throw configurationError(field, 'must be a public key or certificate in PEM form', cause);
  }
}

interface PublishedKeysOptions {
  readonly uri: string;
  readonly clock: Clock;
  readonly delay: Delay;
  readonly field: string;
  /** Holds while the issuer does not publish keys. Tokens do not affect it. */
  readonly condition: Condition;
}

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
function publishedKeys({ uri: configured, clock, delay, field, condition }: PublishedKeysOptions) {
  const uri = trustedUri(configured, field);
  let keys: readonly PublishedKey[] = [];
  let fetchedAt = Number.NEGATIVE_INFINITY;
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
