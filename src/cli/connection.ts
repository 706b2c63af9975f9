import { readFileSync } from 'node:fs';
import { inspectApiKey } from '../auth/api-key.ts';
import { readDevKey } from '../auth/dev-key.ts';
import { createRdcpClient, type RdcpClient } from '../client/client.ts';
import { isIdentifier } from '../protocol/names.ts';
import { type Option, type Terminal, text, UsageError, type Values } from './command.ts';

const DEFAULT_URL = 'http://127.0.0.1:9465';

/** What every command that talks to a service takes. */
export const CONNECTION_OPTIONS = {
  url: { type: 'string', value: 'URL', help: `the service (default: RDCP_URL, else ${DEFAULT_URL})` },
  'key-file': { type: 'string', value: 'FILE', help: 'holds the API key (default: RDCP_API_KEY, else .rdcp/dev-key)' },
  tenant: { type: 'string', value: 'ID', help: 'the tenant that is meant' },
  json: { type: 'boolean', help: 'print the answer as JSON' },
} as const satisfies Record<string, Option>;

/** A client for the service and with the credential that options, environment and directory name, in that order. */
export function connect(terminal: Terminal, values: Values): RdcpClient {
  const apiKey = findKey(terminal, values);
  const tenantId = text(values, 'tenant');
  if (tenantId !== undefined && !isIdentifier(tenantId)) {
    throw new UsageError('--tenant must be 1 to 255 of a-z A-Z 0-9 . _ -');
  }
  const baseUrl = text(values, 'url') ?? terminal.env.RDCP_URL ?? DEFAULT_URL;
  if (apiKey !== undefined && isExposed(baseUrl)) terminal.note('rdcp: warning: the key travels unencrypted');
  try {
    return createRdcpClient({
      baseUrl,
      clientId: 'rdcp-cli',
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(tenantId === undefined ? {} : { tenantId }),
    });
  } catch {
    throw new UsageError(
      '--url (or RDCP_URL) must be an address such as https://host:9465, without a credential in it',
    );
  }
}

/** RDCP 1.0, Transport: plain HTTP is for localhost. */
function isExposed(baseUrl: string): boolean {
  const url = URL.parse(baseUrl);
  return url?.protocol === 'http:' && !/^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
}

function findKey(terminal: Terminal, values: Values): string | undefined {
  const file = text(values, 'key-file');
  if (file !== undefined) return checked(readFileSync(file, 'utf8').trim(), file);
  const variable = terminal.env.RDCP_API_KEY;
  return variable === undefined ? readDevKey(terminal.cwd) : checked(variable.trim(), 'RDCP_API_KEY');
}

/** The checksum of a generated key tells a typing mistake before a request is made. */
function checked(key: string, origin: string): string {
  if (!/^[\x21-\x7e]+$/.test(key)) throw new UsageError(`${origin} must hold one key`);
  if (inspectApiKey(key).form === 'mistyped') throw new UsageError(`the key in ${origin} is mistyped`);
  return key;
}
