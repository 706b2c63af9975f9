import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { ApiKeyRecord, RdcpConfig, TicketIssuerOptions } from '../../src/options/options.ts';
import { makeKey } from '../auth/records.ts';
import { newFolder } from '../support/folder.ts';
import { send, type TestRequest } from '../support/server.ts';
import { startService } from '../support/service.ts';
import { pemOf } from '../tickets/tickets.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');

/** How processes know documents of the service. */
export const ISSUERS: readonly TicketIssuerOptions[] = [
  { issuer: 'https://ops.example', audience: 'jobs', publicKey: pemOf(publicKey) },
];

/** A service that signs documents, and a key for it. Its own category is OWN. */
export async function signingService(t: TestContext, record: Partial<ApiKeyRecord> = {}, config: RdcpConfig = {}) {
  const folder = newFolder(t);
  const signingKeyFile = join(folder, 'signing.pem');
  writeFileSync(signingKeyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const ops = makeKey({ id: 'ops', clientId: 'ops', scopes: ['control', 'discovery'], ...record });
  const auditor = makeKey({ id: 'auditor', clientId: 'auditor', scopes: ['admin'] });
  const { security, ...rest } = config;
  const { url } = await startService(t, {
    categories: { OWN: {} },
    ...rest,
    security: {
      apiKeys: [ops.record, auditor.record],
      tokens: { issuer: 'https://ops.example', audience: 'jobs', signingKeyFile },
      ...security,
    },
  });
  return {
    env: { RDCP_URL: url, RDCP_API_KEY: ops.key },
    ask: <T>(path: string, request: TestRequest = {}, key = ops.key) =>
      send<T>(url + path, { ...request, headers: { 'X-RDCP-API-Key': key, ...request.headers } }),
    audit: <T>(path: string) => send<T>(url + path, { headers: { 'X-RDCP-API-Key': auditor.key } }),
  };
}
