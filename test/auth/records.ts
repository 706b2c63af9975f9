import { randomBytes } from 'node:crypto';
import { generateApiKey, hashApiKey } from '../../src/access/api-key.ts';
import type { CredentialRequest } from '../../src/access/authenticator.ts';
import type { ApiKeyRecord } from '../../src/options/options.ts';
import { isRdcpError } from '../../src/wire/errors.ts';

/** A new key and its record. */
export function makeKey(fields: Partial<ApiKeyRecord> = {}): { key: string; record: ApiKeyRecord } {
  const key = generateApiKey({ env: 'test', randomBytes });
  return { key, record: { id: 'k1', hash: hashApiKey(key), clientId: 'ops', scopes: ['status'], ...fields } };
}

/** A request as node:http shows it: lower-case names, every value kept. */
export function request(headers: Record<string, string | readonly string[]>): CredentialRequest {
  return {
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), typeof value === 'string' ? [value] : value]),
    ),
  };
}

/** For assert.rejects and assert.throws: the code, and the reason where one is given. */
export function failsWith(code: string, reason?: string): (error: unknown) => boolean {
  return (error) =>
    isRdcpError(error) && error.code === code && (reason === undefined || error.details?.reason === reason);
}
