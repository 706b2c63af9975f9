import { inspectApiKey } from '../auth/api-key.ts';
import { readDevKey } from '../auth/dev-key.ts';
import { createRdcpClient, type RdcpClient } from '../client/client.ts';
import type { RdcpClientOptions } from '../client/transport.ts';
import { isIdentifier } from '../protocol/names.ts';
import { type Option, type Terminal, text, UsageError, type Values } from './command.ts';
import { readText } from './read-text.ts';

const DEFAULT_URL = 'http://127.0.0.1:9465';

export const ADDRESS_OPTIONS = {
  url: {
    type: 'string',
    value: 'URL',
    help: `the service (default: RDCP_URL, else RDCP_PORT of this host, else ${DEFAULT_URL})`,
  },
} as const satisfies Record<string, Option>;

/** What every command that shows a service a credential takes. */
export const CONNECTION_OPTIONS = {
  ...ADDRESS_OPTIONS,
  'key-file': { type: 'string', value: 'FILE', help: 'holds the API key (default: RDCP_API_KEY, else .rdcp/dev-key)' },
  'token-file': { type: 'string', value: 'FILE', help: 'holds a bearer token, to use instead of an API key' },
  tenant: { type: 'string', value: 'ID', help: 'act for this tenant' },
  json: { type: 'boolean', help: 'print the answer as JSON' },
} as const satisfies Record<string, Option>;

/**
 * A client for the service that options and environment name.
 * @param credential empty where the request itself has one. @default what options, environment and directory name, in that order
 */
export function connect(
  terminal: Terminal,
  values: Values,
  credential: Credential | undefined = findCredential(terminal, values),
): RdcpClient {
  const tenantId = text(values, 'tenant');
  if (tenantId !== undefined && !isIdentifier(tenantId)) {
    throw new UsageError('--tenant must be 1 to 255 of a-z A-Z 0-9 . _ -');
  }
  const baseUrl = text(values, 'url') ?? setting(terminal, 'RDCP_URL') ?? localUrl(terminal);
  if (credential !== undefined && isExposed(baseUrl)) {
    terminal.note('rdcp: warning: the credential travels unencrypted');
  }
  try {
    return createRdcpClient({
      baseUrl,
      clientId: 'rdcp-cli',
      ...credential,
      ...(tenantId === undefined ? {} : { tenantId }),
    });
  } catch {
    throw new UsageError(
      '--url (or RDCP_URL) must be an address such as https://host:9465, without a credential in it',
    );
  }
}

/** The service of this host, on the port that `register` is given by the same variable. */
function localUrl(terminal: Terminal): string {
  const port = setting(terminal, 'RDCP_PORT');
  if (port === undefined) return DEFAULT_URL;
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
    throw new UsageError('RDCP_PORT must be a number from 1 to 65535');
  // The system chose one, and only the service knows which.
  if (Number(port) === 0) throw new UsageError('RDCP_PORT is 0: give --url with the port that the service announced');
  return `http://127.0.0.1:${Number(port)}`;
}

/** RDCP 1.0, Transport: plain HTTP is for localhost. */
function isExposed(baseUrl: string): boolean {
  const url = URL.parse(baseUrl);
  return url?.protocol === 'http:' && !/^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
}

type Credential = Pick<RdcpClientOptions, 'apiKey' | 'token'>;

function findCredential(terminal: Terminal, values: Values): Credential | undefined {
  const tokenFile = text(values, 'token-file');
  const keyFile = text(values, 'key-file');
  if (tokenFile !== undefined && keyFile !== undefined) {
    throw new UsageError('--key-file and --token-file exclude each other');
  }
  if (tokenFile !== undefined) return { token: readWord(tokenFile, '--token-file') };
  if (keyFile !== undefined) return { apiKey: checkedKey(readText(keyFile, '--key-file'), keyFile) };
  const variable = setting(terminal, 'RDCP_API_KEY');
  if (variable !== undefined) return { apiKey: checkedKey(variable, 'RDCP_API_KEY') };
  const apiKey = readDevKey(terminal.cwd);
  return apiKey === undefined ? undefined : { apiKey };
}

/** An empty variable counts as not set, as OpenTelemetry's do. */
function setting({ env }: Terminal, name: string): string | undefined {
  return env[name] === '' ? undefined : env[name];
}

/** The credential in a file. */
export function readWord(file: string, option: string): string {
  return oneWord(readText(file, option), file);
}

/** @throws {UsageError} for anything but one word, which a line break may follow */
export function oneWord(content: string, origin: string): string {
  const word = content.trim();
  if (!/^[\x21-\x7e]+$/.test(word)) throw new UsageError(`${origin} must hold one credential and nothing else`);
  return word;
}

/** The checksum of a generated key tells a typing mistake before a request is made. */
function checkedKey(content: string, origin: string): string {
  const key = oneWord(content, origin);
  if (inspectApiKey(key).form === 'mistyped') throw new UsageError(`the key in ${origin} is mistyped`);
  return key;
}
