import { timingSafeEqual } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { RdcpError } from '../errors.ts';
import type { ApiKeyRecord } from '../options.ts';
import { hashApiKey, MAX_API_KEY_LENGTH } from './api-key.ts';
import type { CredentialVerifier } from './authenticators.ts';
import { byConnection } from './by-connection.ts';
import type { Principal } from './principal.ts';
import { refusal } from './refusal.ts';

export interface ApiKeyVerifierOptions {
  readonly keys: KeySource;
  readonly clock: Clock;
}

export interface ApiKeyVerifier extends CredentialVerifier {
  /** Whether a text is one of the keys, valid now or not. */
  knows(key: string): boolean;
  /** Returns the principal of a key record while the key is valid. */
  principal(id: string): Principal | undefined;
}

/** The hash of a presented key, as text and as bytes. */
interface Hashed {
  readonly hash: string;
  readonly digest: Buffer;
}

/**
 * Verifies API keys. Several keys can be valid at once, so that clients can rotate them. Wrong, unknown, mistyped, expired
 * and not yet valid keys get the same response.
 */
export function createApiKeyVerifier({ keys, clock }: ApiKeyVerifierOptions): ApiKeyVerifier {
  const hashed = byConnection((text): Hashed => {
    const hash = hashApiKey(text);
    return { hash, digest: Buffer.from(hash.slice('sha256:'.length), 'hex') };
  });

  return {
    knows: (key) => key.length <= MAX_API_KEY_LENGTH && lookUp(keys, hashed(key)) !== undefined,
    principal: (id) => {
      const stored = keys.findById(id);
      return stored !== undefined && isInForce(stored, clock.now()) ? stored.principal : undefined;
    },
    verify: (key, connection) => {
      const stored = key.length > MAX_API_KEY_LENGTH ? undefined : lookUp(keys, hashed(key, connection));
      if (stored === undefined || !isInForce(stored, clock.now())) throw refusal('api-key');
      return stored.principal;
    },
    close: () => keys.close(),
  };
}

/**
 * Finds a key by its hash and compares in constant time. The lookup's timing may leak bits of a hash, which does not help an
 * attacker: producing a key with a chosen hash is as hard as guessing the key.
 */
function lookUp(keys: KeySource, { hash, digest }: Hashed): StoredKey | undefined {
  const stored = keys.find(hash);
  if (stored === undefined) return undefined;
  return timingSafeEqual(digest, stored.digest) ? stored : undefined;
}

/** A key record, parsed for comparison. */
export interface StoredKey {
  /** The SHA-256 of the key. */
  readonly digest: Buffer;
  /** Start of validity, in milliseconds since the epoch. */
  readonly notBefore: number;
  /** End of validity (exclusive), in milliseconds since the epoch. */
  readonly expiresAt: number;
  readonly principal: Principal;
}

/** Finds keys. */
export interface KeySource {
  /** @param hash as in a record: `sha256:` and hex */
  find(hash: string): StoredKey | undefined;
  /** Finds a key by the id of its record. */
  findById(id: string): StoredKey | undefined;
  close(): void;
}

export interface KeyRules {
  /** Whether tenancy is configured. If not, keys of a tenant are rejected. @default true */
  readonly tenancy?: boolean | undefined;
}

export interface KeySet {
  readonly byHash: ReadonlyMap<string, StoredKey>;
  readonly byId: ReadonlyMap<string, StoredKey>;
}

/** Whether a key is valid at an instant, in milliseconds since the epoch. */
export function isInForce({ notBefore, expiresAt }: StoredKey, now: number): boolean {
  return now >= notBefore && now < expiresAt;
}

/**
 * Indexes keys by hash and by id.
 * @param field name of the list, for messages
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` for a duplicate id or hash, and for a key of a tenant without tenancy
 */
export function keySet(records: readonly ApiKeyRecord[], field: string, { tenancy = true }: KeyRules = {}): KeySet {
  const byHash = new Map<string, StoredKey>();
  const byId = new Map<string, StoredKey>();
  for (const [index, record] of records.entries()) {
    if (record.tenantId !== undefined && !tenancy) {
      throw withoutTenancy(`${field}.${index}.tenantId`, `the key of client ${record.clientId}`);
    }
    if (byId.has(record.id)) throw invalid(`${field}.${index}.id`, 'is used by an earlier key');
    if (byHash.has(record.hash)) throw invalid(`${field}.${index}.hash`, 'is used by an earlier key');
    const stored = storedKey(record);
    byId.set(record.id, stored);
    byHash.set(record.hash, stored);
  }
  return { byHash, byId };
}

/** Returns a source of keys that never change. */
export function fixedKeys(records: readonly ApiKeyRecord[], rules?: KeyRules): KeySource {
  const keys = keySet(records, 'security.apiKeys', rules);
  return { find: (hash) => keys.byHash.get(hash), findById: (id) => keys.byId.get(id), close: () => {} };
}

/** @param holder credential that belongs to a tenant, for the message */
export function withoutTenancy(field: string, holder: string): RdcpError {
  return invalid(field, `needs tenancy: ${holder} belongs to a tenant`);
}

function invalid(field: string, problem: string): RdcpError {
  return new RdcpError('RDCP_CONFIG_INVALID', `${field} ${problem}`, { details: { field } });
}

function storedKey(record: ApiKeyRecord): StoredKey {
  const expiresAt = record.expiresAt === undefined ? undefined : Date.parse(record.expiresAt);
  return {
    digest: Buffer.from(record.hash.slice('sha256:'.length), 'hex'),
    notBefore: record.notBefore === undefined ? Number.NEGATIVE_INFINITY : Date.parse(record.notBefore),
    expiresAt: expiresAt ?? Number.POSITIVE_INFINITY,
    principal: {
      method: 'api-key',
      userId: record.userId ?? record.clientId,
      clientId: record.clientId,
      ...(record.tenantId === undefined ? {} : { tenantId: record.tenantId }),
      scopes: [...new Set(record.scopes)],
      ...(expiresAt === undefined ? {} : { expiresAt }),
      keyId: record.id,
    },
  };
}
