import { timingSafeEqual } from 'node:crypto';
import { basename } from 'node:path';
import { z } from 'zod';
import { apiKeyRecordSchema } from '../options/config.ts';
import { faultPlace } from '../options/json-fault.ts';
import type { ApiKeyRecord } from '../options/options.ts';
import type { Condition } from '../otel/report/conditions.ts';
import { invalidSetting, isRdcpError } from '../wire/errors.ts';
import { firstIssue } from '../wire/issues.ts';
import type { Clock } from '../wire/time/clock.ts';
import { hashApiKey, MAX_API_KEY_LENGTH } from './api-key.ts';
import type { Principal } from './principal.ts';
import { refusal } from './refusal.ts';
import { type WatchedFile, watchFile } from './watched-file.ts';

export type ApiKeyVerifier = ReturnType<typeof createApiKeyVerifier>;

/** Verifies API keys. Several can be valid at once, for rotation. Every key that is refused gets the same response. */
export function createApiKeyVerifier({ keys, clock }: { readonly keys: KeySource; readonly clock: Clock }) {
  return {
    knows: (key: string): boolean => lookUp(keys, key) !== undefined,
    principal: (id: string): Principal | undefined => {
      const stored = keys.value.byId.get(id);
      return stored !== undefined && isInForce(stored, clock.now()) ? stored.principal : undefined;
    },
    verify: (key: string): Principal => {
      const stored = lookUp(keys, key);
      if (stored === undefined || !isInForce(stored, clock.now())) throw refusal('api-key');
      return stored.principal;
    },
  };
}

/** Compares in constant time. What the lookup leaks of a hash is no help: a key with a chosen hash is as hard to make as to guess. */
function lookUp(keys: KeySource, key: string): StoredKey | undefined {
  if (key.length > MAX_API_KEY_LENGTH) return undefined;
  const hash = hashApiKey(key);
  const stored = keys.value.byHash.get(hash);
  return stored !== undefined && timingSafeEqual(Buffer.from(hash), Buffer.from(stored.hash)) ? stored : undefined;
}

interface StoredKey {
  readonly hash: string;
  /** Start of validity, in milliseconds since the epoch. */
  readonly notBefore: number;
  /** End of validity (exclusive), in milliseconds since the epoch. */
  readonly expiresAt: number;
  readonly principal: Principal;
}

/** Keys, which a file may replace at any time. */
export interface KeySource {
  readonly value: KeySet;
  close(): void;
}

interface KeyRules {
  /** Whether tenancy is configured. If not, keys of a tenant are rejected. @default true */
  readonly tenancy?: boolean | undefined;
}

type KeySet = ReturnType<typeof keySet>;

function isInForce({ notBefore, expiresAt }: StoredKey, now: number): boolean {
  return now >= notBefore && now < expiresAt;
}

/** @param field of the list @throws {RdcpError} `RDCP_CONFIG_INVALID` for a duplicate, and for a tenant's key without tenancy */
function keySet(records: readonly ApiKeyRecord[], field: string, { tenancy = true }: KeyRules = {}) {
  const byHash = new Map<string, StoredKey>();
  const byId = new Map<string, StoredKey>();
  for (const [index, record] of records.entries()) {
    const member = tenantMember(record);
    if (member !== undefined && !tenancy) {
      throw withoutTenancy(`${field}.${index}.${member}`, `the key of client ${record.clientId}`);
    }
    if (byId.has(record.id)) throw wrong(`${field}.${index}.id`, 'is used by an earlier key');
    if (byHash.has(record.hash)) throw wrong(`${field}.${index}.hash`, 'is used by an earlier key');
    const stored = storedKey(record);
    byId.set(record.id, stored);
    byHash.set(record.hash, stored);
  }
  return { byHash, byId };
}

export function fixedKeys(records: readonly ApiKeyRecord[], rules?: KeyRules): KeySource {
  return { value: keySet(records, 'security.apiKeys', rules), close: () => {} };
}

export function tenantMember({
  tenantId,
  tenants,
  allow,
}: Pick<ApiKeyRecord, 'tenantId' | 'tenants' | 'allow'>): string | undefined {
  if (tenantId !== undefined) return 'tenantId';
  if (tenants !== undefined) return 'tenants';
  return allow?.tenants === undefined ? undefined : 'allow.tenants';
}

/** @param holder credential that belongs to a tenant, for the message */
export function withoutTenancy(field: string, holder: string) {
  return wrong(field, `needs tenancy: ${holder} belongs to a tenant`);
}

function wrong(field: string, problem: string) {
  return invalidSetting(field, `${field} ${problem}`);
}

function storedKey({ id, hash, notBefore, expiresAt, ...identity }: ApiKeyRecord): StoredKey {
  const from = notBefore === undefined ? Number.NEGATIVE_INFINITY : Date.parse(notBefore);
  const to = expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
  const { clientId, userId = clientId, scopes } = identity;
  return {
    hash,
    notBefore: from,
    expiresAt: to,
    principal: {
      method: 'api-key',
      ...identity,
      userId,
      scopes: [...new Set(scopes)],
      ...(expiresAt !== undefined && { expiresAt: to }),
      keyId: id,
    },
  };
}

const keysFileSchema = z.strictObject({ keys: z.array(apiKeyRecordSchema) });

interface KeysFileOptions extends KeyRules {
  readonly condition?: Condition;
}

/** @param name of the file @throws {RdcpError} `RDCP_CONFIG_INVALID` in one line with the file, the field and the problem */
export function parseKeysFile(text: string, name: string): ApiKeyRecord[] {
  const result = keysFileSchema.safeParse(parseJson(text, name));
  if (!result.success) {
    const { field, message } = firstIssue(result.error);
    throw invalid(name, `${field === '' ? 'the file' : field} ${message}`, field);
  }
  return result.data.keys;
}

/** Changes apply within a second. @throws {RdcpError} `RDCP_CONFIG_INVALID` if the file is wrong at the start */
export function openKeysFile(path: string, { condition, ...rules }: KeysFileOptions = {}): WatchedFile<KeySet> {
  const name = basename(path);
  return watchFile(path, { name: `keys file ${name}`, load: (text) => load(text, name, rules), condition });
}

function load(text: string, name: string, rules: KeyRules): KeySet {
  const records = parseKeysFile(text, name);
  try {
    return keySet(records, 'keys', rules);
  } catch (error) {
    throw isRdcpError(error) ? invalid(name, error.message, String(error.details?.field)) : error;
  }
}

function parseJson(text: string, name: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    throw invalid(name, `the file is not JSON${faultPlace(error)}`, '');
  }
}

function invalid(name: string, problem: string, field: string) {
  return invalidSetting(field, `keys file ${name}: ${problem}`);
}
