import { RdcpError } from '../errors.ts';
import type { ApiKeyRecord } from '../options.ts';
import type { Principal } from './principal.ts';

/** A key record, ready to be compared with what a request brings. */
export interface StoredKey {
  /** The SHA-256 of the key. */
  readonly digest: Buffer;
  /** Valid from this instant on, milliseconds since the epoch. */
  readonly notBefore: number;
  /** Valid until just before this instant, milliseconds since the epoch. */
  readonly expiresAt: number;
  readonly principal: Principal;
}

/** Where keys are found by their hash. */
export interface KeySource {
  /** @param hash as in a record: `sha256:` and hex */
  find(hash: string): StoredKey | undefined;
  /** The key that is in force under an id of a record. */
  findById(id: string): StoredKey | undefined;
  close(): void;
}

export interface KeyRules {
  /** Whether the server has tenants. Without, a key of a tenant is refused. @default true */
  readonly tenancy?: boolean | undefined;
}

export interface KeySet {
  readonly byHash: ReadonlyMap<string, StoredKey>;
  readonly byId: ReadonlyMap<string, StoredKey>;
}

/** Whether a key may be used at an instant, in milliseconds since the epoch. */
export function isInForce({ notBefore, expiresAt }: StoredKey, now: number): boolean {
  return now >= notBefore && now < expiresAt;
}

/**
 * Keys by their hash and by their id.
 * @param field what to call the list in the message
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` for an id or a hash that stands twice: the second one would be dead, or
 * could not be revoked by its id; and for a key of a tenant where there are none: it must not be everybody's
 */
export function keySet(records: readonly ApiKeyRecord[], field: string, { tenancy = true }: KeyRules = {}): KeySet {
  const byHash = new Map<string, StoredKey>();
  const byId = new Map<string, StoredKey>();
  for (const [index, record] of records.entries()) {
    if (record.tenantId !== undefined && !tenancy) {
      throw withoutTenancy(`${field}.${index}.tenantId`, `the key of client ${record.clientId}`);
    }
    if (byId.has(record.id)) throw invalid(`${field}.${index}.id`, 'is the id of an earlier key');
    if (byHash.has(record.hash)) throw invalid(`${field}.${index}.hash`, 'is the hash of an earlier key');
    const stored = storedKey(record);
    byId.set(record.id, stored);
    byHash.set(record.hash, stored);
  }
  return { byHash, byId };
}

/** Keys that stay as they are while the process runs. */
export function fixedKeys(records: readonly ApiKeyRecord[], rules?: KeyRules): KeySource {
  const keys = keySet(records, 'security.apiKeys', rules);
  return { find: (hash) => keys.byHash.get(hash), findById: (id) => keys.byId.get(id), close: () => {} };
}

/** @param holder who belongs to a tenant of a server that has none */
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
