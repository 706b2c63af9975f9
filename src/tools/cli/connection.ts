import { Agent, request } from 'node:https';
import { Readable } from 'node:stream';
import { inspectApiKey } from '../../access/api-key.ts';
import { findDevKey } from '../../access/dev-key.ts';
import { HEADERS, PATHS } from '../../wire/constants.ts';
import { RdcpError } from '../../wire/errors.ts';
import { given } from '../../wire/json-text.ts';
import { isLoopback } from '../../wire/net/hosts.ts';
import { createRdcpClient, type RdcpClient } from '../client/client.ts';
import type { Fetch, RdcpClientOptions } from '../client/transport.ts';
import { grouped, type Option, type Terminal, text, UsageError, type Values } from './command.ts';
import { identifier, OUTPUT_OPTIONS, readText } from './options.ts';
import { findProfile, type NamedProfile, type Profile, readProfiles } from './profiles.ts';

export const DEFAULT_URL = 'http://127.0.0.1:9465';

export const CONNECTION = 'Connection:';

export const ADDRESS_OPTIONS = grouped(CONNECTION, {
  url: { value: 'URL', help: "service address (default: RDCP_URL, else RDCP_PORT on this host, else the profile's)" },
  profile: {
    value: 'NAME',
    completes: 'profiles',
    help: "service and credential of 'rdcp login' (default: RDCP_PROFILE, else default, or the only one)",
  },
});

/** The profile that a command stores or removes. */
export const PROFILE_OPTION: Option = {
  ...ADDRESS_OPTIONS.profile,
  help: 'name of the profile (default: RDCP_PROFILE, else default)',
};

export const CREDENTIAL_OPTIONS = {
  ...ADDRESS_OPTIONS,
  ...grouped(CONNECTION, {
    'key-file': {
      value: 'FILE',
      help: "file with the API key (default: RDCP_API_KEY, else the profile's, else .rdcp/dev-key)",
    },
    'token-file': { value: 'FILE', help: 'file with a bearer token, instead of an API key' },
    tenant: { value: 'ID', completes: 'tenants', help: "act for this tenant (default: the profile's)" },
  }),
};

export const CONNECTION_OPTIONS = { ...OUTPUT_OPTIONS, ...CREDENTIAL_OPTIONS };

export interface Access {
  readonly url: string;
  readonly credential: Credential | undefined;
  readonly tenantId: string | undefined;
  /** Present with a client certificate or own authorities. */
  readonly tls: TlsFiles | undefined;
}

export function connect(terminal: Terminal, values: Values): RdcpClient {
  return clientOf(terminal, accessOf(terminal, values));
}

/** @throws {RdcpError} where a tenant is named and the service has none: its answer would be about everybody */
export async function connectToRead(terminal: Terminal, values: Values): Promise<RdcpClient> {
  const access = accessOf(terminal, values);
  const client = clientOf(terminal, access);
  if (access.tenantId !== undefined && (await client.wellKnown()).capabilities?.multiTenancy === false) {
    throw new RdcpError('RDCP_MALFORMED_REQUEST', `${HEADERS.tenantId} is not allowed: this server has no tenants`);
  }
  return client;
}

/** A client without a credential: the request itself carries one. */
export function connectAnonymously(terminal: Terminal, values: Values): RdcpClient {
  return clientOf(terminal, { ...placeOf(terminal, values), credential: undefined });
}

/** Options come first, then the environment, then the profile. A profile's credential goes to its own address alone. */
export function accessOf(terminal: Terminal, values: Values): Access {
  const place = placeOf(terminal, values);
  const { origin, ...credential } = findCredential(terminal, values, place) ?? { origin: undefined };
  terminal.sources.credential = origin;
  return { ...place, credential: origin === undefined ? undefined : credential };
}

interface Place extends Omit<Access, 'credential'> {
  readonly own: NamedProfile | undefined;
  readonly named: boolean;
}

function placeOf(terminal: Terminal, values: Values): Place {
  const profile = findProfile(terminal, values);
  const named = text(values, 'profile') === undefined ? undefined : profile;
  const from = (url: string | undefined, origin: string | undefined) =>
    url === undefined ? undefined : { url, origin };
  const { url, origin } = from(text(values, 'url') ?? named?.url, undefined) ??
    from(setting(terminal, 'RDCP_URL'), 'RDCP_URL') ??
    from(portUrl(terminal), 'RDCP_PORT') ??
    from(profile?.url, `profile ${profile?.name}`) ?? { url: DEFAULT_URL, origin: undefined };
  terminal.sources.address = origin;
  if (url === DEFAULT_URL && text(values, 'url') === undefined && profile === undefined) {
    terminal.sources.profiles = [...readProfiles(terminal).keys()].sort();
  }
  const own = profile !== undefined && isSameService(url, profile.url) ? profile : undefined;
  const tenantId = identifier(values, 'tenant') ?? own?.tenant;
  return { url, tenantId, tls: own && tlsFilesOf(own), own, named: named !== undefined };
}

export function clientOf(terminal: Terminal, { url, credential, tenantId, tls }: Access): RdcpClient {
  const { protocol, hostname = '' } = URL.parse(url) ?? {};
  // RDCP 1.0, Transport: plain HTTP only for localhost.
  const isExposed = protocol === 'http:' && !isLoopback(hostname);
  if (credential !== undefined && isExposed) terminal.note('rdcp: warning: the credential is sent unencrypted');
  assertAddress(url);
  return createRdcpClient({
    baseUrl: url,
    clientId: 'rdcp-cli',
    ...credential,
    ...(tenantId !== undefined && { tenantId }),
    fetch: patient(terminal, tls ? tlsFetch(tls) : (target, init) => fetch(target, init)),
  });
}

/** @throws {UsageError} that says what is wrong, but not the address itself: it may hold a credential */
export function assertAddress(url: string): void {
  const parsed = URL.parse(url);
  const isHttp = parsed !== null && /^https?:$/.test(parsed.protocol);
  if (!isHttp || parsed.username !== '' || parsed.password !== '') {
    const scheme = /^[\w.-]+(?::\d+)?(?:\/[\w./-]*)?$/.test(url) ? `; did you mean http://${url}?` : '';
    throw new UsageError(
      `--url (or RDCP_URL) must be an address such as https://host:9465, without a credential${scheme}`,
    );
  }
  const within = /\/(?:rdcp(?:\/.*)?|\.well-known\/rdcp)\/?$/.exec(parsed.pathname);
  if (within === null) return;
  const base = parsed.origin + parsed.pathname.slice(0, within.index);
  throw new UsageError(`--url (or RDCP_URL) must be the address in front of ${within[0]}: use ${base}`);
}

export function isSameService(url: string, other: string): boolean {
  const [one, two] = [URL.parse(url), URL.parse(other)];
  return one !== null && two !== null && one.origin + one.pathname === two.origin + two.pathname;
}

export function tlsFilesOf({ caFile, certFile, certKeyFile }: Omit<Profile, 'url'>): TlsFiles | undefined {
  if (caFile === undefined && certFile === undefined) return undefined;
  return given({
    ca: readPem(caFile, '--ca', 'certificate'),
    cert: readPem(certFile, '--cert', 'certificate'),
    key: readPem(certKeyFile, '--cert-key', 'private key'),
  });
}

/** OpenSSL ignores what it does not know, and then trusts no server at all. */
function readPem(file: string | undefined, option: string, what: string): string | undefined {
  if (file === undefined) return undefined;
  const content = readText(file, option);
  const begins = content.toLowerCase().match(/^-----begin [^-\n]*-----/gm) ?? [];
  if (begins.some((line) => line.includes(what))) return content;
  throw new UsageError(`${option}: ${file} holds no ${what} in PEM form`);
}

/** The service on this host. `register` reads its port from the same variable. */
function portUrl(terminal: Terminal): string | undefined {
  const port = setting(terminal, 'RDCP_PORT');
  if (port === undefined) return undefined;
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
    throw new UsageError('RDCP_PORT must be a number from 1 to 65535');
  // The system chose the port, and only the service knows it.
  if (Number(port) === 0)
    throw new UsageError('RDCP_PORT is 0: pass --url with the port that the service printed at its start');
  return `http://127.0.0.1:${Number(port)}`;
}

export type Credential = Pick<RdcpClientOptions, 'apiKey' | 'token'>;

type FoundCredential = Credential & { readonly origin: string };

function findCredential(terminal: Terminal, values: Values, { url, own, named }: Place): FoundCredential | undefined {
  const tokenFile = text(values, 'token-file');
  const keyFile = text(values, 'key-file');
  if (tokenFile !== undefined && keyFile !== undefined) {
    throw new UsageError('--key-file and --token-file cannot be combined');
  }
  if (tokenFile !== undefined) return { token: readWord(tokenFile, '--token-file'), origin: '--token-file' };
  if (keyFile !== undefined) {
    return { apiKey: checkedKey(readText(keyFile, '--key-file'), keyFile), origin: '--key-file' };
  }
  const { name, apiKey, token } = own ?? {};
  // A profile with a client certificate may have none.
  const hasCredential = (apiKey ?? token) !== undefined;
  const credential = given(apiKey === undefined ? { token } : { apiKey });
  const found = hasCredential ? { ...credential, origin: `profile ${name}` } : undefined;
  if (own !== undefined && named) return found;
  const variable = setting(terminal, 'RDCP_API_KEY');
  if (variable !== undefined) {
    const before = found === undefined ? '' : `, before that of ${found.origin}`;
    return { apiKey: checkedKey(variable, 'RDCP_API_KEY'), origin: `RDCP_API_KEY${before}` };
  }
  if (own !== undefined) return found;
  // A service that takes this key answers on loopback alone.
  const devKey = isLoopback(URL.parse(url)?.hostname ?? '') ? findDevKey(terminal.cwd) : undefined;
  return devKey && { apiKey: devKey.key, origin: devKey.file };
}

/** An empty variable counts as unset, as in OpenTelemetry. */
export function setting({ env }: Terminal, name: string): string | undefined {
  return env[name] === '' ? undefined : env[name];
}

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
export function checkedKey(content: string, origin: string): string {
  const key = oneWord(content, origin);
  if (inspectApiKey(key).form === 'mistyped') throw new UsageError(`the key in ${origin} is mistyped`);
  return key;
}

/** PEM. */
export interface TlsFiles {
  /** Trusted instead of the authorities that Node knows. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** `fetch` with a client certificate or own authorities, which the global one does not take. */
export function tlsFetch(files: TlsFiles): Fetch {
  const agent = new Agent({ ...files, keepAlive: true });
  return (url, { method = 'GET', headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const sending = request(
        url,
        { agent, method, headers: Object.fromEntries(new Headers(headers)), ...(signal && { signal }) },
        (answer) => {
          const { statusCode: status = 0, headersDistinct } = answer;
          const names = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
            values.map((value): [string, string] => [name, value]),
          );
          const empty = status === 204 || status === 205 || status === 304;
          const content = empty ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>);
          try {
            resolve(new Response(content, { status, headers: names }));
          } catch (cause) {
            // A status that no Response can have.
            reject(new TypeError('fetch failed', { cause }));
          }
        },
      );
      sending.on('error', (cause) => reject(new TypeError('fetch failed', { cause })));
      sending.end(typeof body === 'string' ? body : undefined);
    });
}

/** After this time without an answer a note says so, in milliseconds. The client itself waits longer. */
const SLOW_MS = 5000;

/** Notes that an answer is slow, except for forecasts, which take as long as they measure. */
export function patient({ note }: Pick<Terminal, 'note'>, fetch: Fetch): Fetch {
  return async (url, init) => {
    const { origin, pathname } = new URL(url);
    if (pathname.endsWith(PATHS.forecast)) return fetch(url, init);
    const slow = setTimeout(() => note(`Waiting for an answer of ${origin}; Ctrl-C ends it.`), SLOW_MS);
    try {
      return await fetch(url, init);
    } finally {
      clearTimeout(slow);
    }
  };
}
