import { inspectApiKey } from '../auth/api-key.ts';
import { readDevKey } from '../auth/dev-key.ts';
import { createRdcpClient, type RdcpClient } from '../client/client.ts';
import type { RdcpClientOptions } from '../client/transport.ts';
import { isIdentifier } from '../protocol/names.ts';
import { type Option, type Terminal, text, UsageError, type Values } from './command.ts';
import { OUTPUT_OPTIONS } from './output.ts';
import { readText } from './read-text.ts';

const DEFAULT_URL = 'http://127.0.0.1:9465';

const CONNECTION = 'Connection:';

export const ADDRESS_OPTIONS = {
  url: {
    type: 'string',
    value: 'URL',
    group: CONNECTION,
    help: `service address (default: RDCP_URL, else RDCP_PORT on this host, else ${DEFAULT_URL})`,
  },
} as const satisfies Record<string, Option>;

/** Options of every command that sends a credential. */
export const CREDENTIAL_OPTIONS = {
  ...ADDRESS_OPTIONS,
  'key-file': {
    type: 'string',
    value: 'FILE',
    group: CONNECTION,
    completes: 'files',
    help: 'file with the API key (default: RDCP_API_KEY, else .rdcp/dev-key)',
  },
  'token-file': {
    type: 'string',
    value: 'FILE',
    group: CONNECTION,
    completes: 'files',
    help: 'file with a bearer token, instead of an API key',
  },
  tenant: { type: 'string', value: 'ID', group: CONNECTION, help: 'act for this tenant' },
} as const satisfies Record<string, Option>;

/** Options of every command that shows an answer of the service. */
export const CONNECTION_OPTIONS = { ...OUTPUT_OPTIONS, ...CREDENTIAL_OPTIONS } as const satisfies Record<
  string,
  Option
>;

/**
 * A client for the service that options or environment name.
 * @param credential `{}` if the request itself has one. @default from options, environment or .rdcp/dev-key, in that order
 */
export function connect(
  terminal: Terminal,
  values: Values,
  credential: Credential | undefined = findCredential(terminal, values),
): RdcpClient {
  const tenantId = text(values, 'tenant');
  if (tenantId !== undefined && !isIdentifier(tenantId)) {
    throw new UsageError('--tenant must be 1 to 255 characters of a-z A-Z 0-9 . _ -');
  }
  const baseUrl = text(values, 'url') ?? setting(terminal, 'RDCP_URL') ?? localUrl(terminal);
  if (credential !== undefined && isExposed(baseUrl)) {
    terminal.note('rdcp: warning: the credential is sent unencrypted');
  }
  try {
    return createRdcpClient({
      baseUrl,
      clientId: 'rdcp-cli',
      ...credential,
      ...(tenantId === undefined ? {} : { tenantId }),
    });
  } catch {
    throw new UsageError('--url (or RDCP_URL) must be an address such as https://host:9465, without a credential');
  }
}

/** The service on this host. `register` reads its port from the same variable. */
function localUrl(terminal: Terminal): string {
  const port = setting(terminal, 'RDCP_PORT');
  if (port === undefined) return DEFAULT_URL;
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
    throw new UsageError('RDCP_PORT must be a number from 1 to 65535');
  // The system chose the port, and only the service knows it.
  if (Number(port) === 0)
    throw new UsageError('RDCP_PORT is 0: pass --url with the port that the service printed at its start');
  return `http://127.0.0.1:${Number(port)}`;
}

/** RDCP 1.0, Transport: plain HTTP only for localhost. */
function isExposed(baseUrl: string): boolean {
  const url = URL.parse(baseUrl);
  return url?.protocol === 'http:' && !/^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
}

type Credential = Pick<RdcpClientOptions, 'apiKey' | 'token'>;

function findCredential(terminal: Terminal, values: Values): Credential | undefined {
  const tokenFile = text(values, 'token-file');
  const keyFile = text(values, 'key-file');
  if (tokenFile !== undefined && keyFile !== undefined) {
    throw new UsageError('--key-file and --token-file cannot be combined');
  }
  if (tokenFile !== undefined) return { token: readWord(tokenFile, '--token-file') };
  if (keyFile !== undefined) return { apiKey: checkedKey(readText(keyFile, '--key-file'), keyFile) };
  const variable = setting(terminal, 'RDCP_API_KEY');
  if (variable !== undefined) return { apiKey: checkedKey(variable, 'RDCP_API_KEY') };
  const apiKey = readDevKey(terminal.cwd);
  return apiKey === undefined ? undefined : { apiKey };
}

/** An empty variable counts as unset, as in OpenTelemetry. */
function setting({ env }: Terminal, name: string): string | undefined {
  return env[name] === '' ? undefined : env[name];
}

/** The credential in a file. */
export function readWord(file: string, option: string): string {
  return oneWord(readText(file, option), file);
}

/** @throws {UsageError} for anything but one word; surrounding white space is ignored */
export function oneWord(content: string, origin: string): string {
  const word = content.trim();
  if (!/^[\x21-\x7e]+$/.test(word)) throw new UsageError(`${origin} must hold one credential and nothing else`);
  return word;
}

/** The checksum of a generated key reveals a typing mistake before a request is made. */
function checkedKey(content: string, origin: string): string {
  const key = oneWord(content, origin);
  if (inspectApiKey(key).form === 'mistyped') throw new UsageError(`the key in ${origin} is mistyped`);
  return key;
}
