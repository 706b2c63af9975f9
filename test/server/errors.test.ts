// Every endpoint with every error that it can answer, over HTTP, beside what docs/endpoint.md says of it.

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ROUTES } from '../../src/endpoint/routes.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import { CONSOLE_PATHS, PATHS, PROTOCOL, TOKEN_PATHS } from '../../src/wire/constants.ts';
import { ERROR_STATUS, RdcpError, unavailable } from '../../src/wire/errors.ts';
import type { ErrorResponse } from '../../src/wire/messages.ts';
import type { OAuthErrorResponse } from '../../src/wire/oauth-messages.ts';
import { codeIn, tableOf } from '../documents/tables.ts';
import { newFolder } from '../support/folder.ts';
import { KeptConnection } from '../support/kept-connection.ts';
import type { RawAnswer } from '../support/raw-http.ts';
import {
  KEYS,
  type KeyName,
  startServer,
  type TestServer,
  type TestServerOptions,
  withMembers,
} from '../support/server.ts';
import { tokenSettings } from './tokens.ts';

interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: string;
}

/** Every route that a server can have. */
const SERVED = ROUTES.map(([method, path]): Route => ({ method, path }));

const OAUTH = new Set<string>(Object.values(TOKEN_PATHS));
const FORM = 'application/x-www-form-urlencoded';
const isStream = ({ method, path }: Route) => method === 'GET' && (path === PATHS.tail || path === PATHS.events);

/** A body that is refused late, so that nothing takes its time. */
const BODIES: Readonly<Record<string, string>> = {
  [PATHS.control]: JSON.stringify({ action: 'status' }),
  [PATHS.approve]: JSON.stringify({ id: '0123456789ab' }),
  [PATHS.forecast]: JSON.stringify({ categories: 'HTTP', duration: 61 }),
  [PATHS.tail]: JSON.stringify({ categories: 'HTTP', duration: '9999d' }),
  [PATHS.failures]: JSON.stringify({ since: '9999d' }),
};

/** The methods of a path. */
const allowedAt = ({ method, path }: Route) => {
  if (path === PATHS.tail) return 'GET, HEAD, POST';
  return method === 'GET' ? 'GET, HEAD' : 'POST';
};

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly query?: string;
  readonly key?: KeyName | 'none';
  readonly body?: string | Buffer;
  readonly type?: string;
  readonly headers?: readonly string[];
}

function requestOf(server: TestServer, route: Route, sent: Sent): string {
  const { method = route.method, path = route.path, query = '', key = 'admin', headers = [] } = sent;
  const { type = OAUTH.has(route.path) ? FORM : 'application/json' } = sent;
  const body = String(sent.body ?? (method === 'POST' ? (BODIES[route.path] ?? '{}') : ''));
  const lines = [
    ...(headers.some((line) => line.startsWith('Host:')) ? [] : [`Host: ${new URL(server.url).host}`]),
    ...(key === 'none' || OAUTH.has(route.path) ? [] : [`X-RDCP-API-Key: ${KEYS[key]}`]),
    ...(body === '' ? [] : [`Content-Type: ${type}`, `Content-Length: ${body.length}`]),
    ...headers,
  ];
  return `${method} ${path}${query} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}

const nameOf = ({ method, path }: Route) => `${method} ${path}`;

/** Judges an answer by what every refusal has. @returns its status and code; `undefined` for one that is no refusal */
function judged(route: Route, answer: RawAnswer, what: string): string | undefined {
  const { status, headers, body } = answer;
  assert.equal(headers.get('x-rdcp-protocol'), PROTOCOL, what);
  assert.ok(headers.has('x-rdcp-request-id'), what);
  assert.equal(headers.get('x-content-type-options'), 'nosniff', what);
  if (status < 400) return undefined;
  assert.deepEqual([headers.get('vary'), headers.has('strict-transport-security')], ['Accept', false], what);
  assert.match(headers.get('cache-control') ?? '', /^no-store/, what);
  assert.match(headers.get('content-type') ?? '', /^application\/json; charset=utf-8$/, what);
  const comesBack = status === 429 || status === 503 || body.includes('"RDCP_REQUEST_IN_PROGRESS"');
  assert.equal(headers.has('retry-after'), comesBack, what);
  if (headers.has('retry-after')) assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/, what);
  assert.equal(headers.has('allow'), status === 405, what);
  if (status === 405) assert.equal(headers.get('allow'), allowedAt(route), what);
  if (status === 401) assert.ok(headers.has('www-authenticate'), what);
  else assert.equal(headers.has('www-authenticate'), false, what);
  if (OAUTH.has(route.path)) {
    // RFC 6749, section 5.2: the two fields, and of the characters that they may have.
    const { error, error_description: description = '', ...more }: OAuthErrorResponse = JSON.parse(body);
    assert.match(description, /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/, what);
    assert.deepEqual([Object.keys(more), headers.get('pragma')], [[], 'no-cache'], what);
    return `${status} ${error}`;
  }
  const { protocol, error, ...more }: ErrorResponse = JSON.parse(body);
  assert.deepEqual([protocol, error.protocol, Object.keys(more)], [PROTOCOL, PROTOCOL, []], what);
  const known = ['code', 'message', 'method', 'details', 'protocol'];
  assert.deepEqual(
    Object.keys(error).filter((name) => !known.includes(name)),
    [],
    what,
  );
  assert.ok(error.message.length > 0 && !/[\r\n]|\.ts|node_modules|bug/.test(error.message), what);
  assert.equal(status, ERROR_STATUS[error.code as keyof typeof ERROR_STATUS], `${what}: ${error.code}`);
  return `${status} ${error.code}`;
}

/** A configuration with every feature. */
function everything(t: TestContext): NonNullable<TestServerOptions['config']> {
  const folder = newFolder(t);
  const signingKeyFile = join(folder, 'signing.pem');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  writeFileSync(signingKeyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const { secret: _, ...tokens } = tokenSettings;
  return {
    alerts: [{ name: 'slow', match: { alertname: 'Slow' }, enable: ['HTTP'], for: '5m' }],
    controls: { maxTemporaryPerTenant: 1 },
    security: { tokens: { ...tokens, issuer: 'https://service.example', signingKeyFile } },
  };
}

const control = (options: object, category = 'HTTP') =>
  JSON.stringify({ action: 'enable', categories: category, options });

/** What a client may send to any endpoint, rightly or not. */
const REQUESTS: Readonly<Record<string, Sent>> = {
  'no credential': { key: 'none' },
  'a wrong key': { key: 'none', headers: [`X-RDCP-API-Key: ${'x'.repeat(40)}`] },
  'two credentials': { headers: ['Authorization: Bearer abc'] },
  'a key without the scope': { key: 'status' },
  'another scope': { key: 'control' },
  'a bad request id': { headers: ['X-RDCP-Request-ID: a b'] },
  'two request ids': { headers: ['X-RDCP-Request-ID: a', 'X-RDCP-Request-ID: b'] },
  'a bad tenant': { headers: ['X-RDCP-Tenant-ID: *'] },
  'too many headers': { headers: Array.from({ length: 101 }, (_, index) => `X-${index}: 1`) },
  'another protocol': { headers: ['X-RDCP-Protocol: rdcp/2.0'] },
  'a foreign host': { headers: ['Host: evil.example'] },
  'no host name': { headers: ['Host: a b'] },
  'a foreign origin': { headers: ['Origin: https://evil.example'] },
  'a foreign site': { headers: ['Sec-Fetch-Site: cross-site'] },
  'no media type of ours': { headers: ['Accept: text/html'] },
  'another method': { method: 'DELETE' },
  OPTIONS: { method: 'OPTIONS' },
  'a query': { query: '?limit=0&categories=http' },
  'a category that is not known': { query: '?categories=NOWHERE' },
  'a body of another type': { type: 'text/plain' },
  'a compressed body': { headers: ['Content-Encoding: gzip'] },
  'an empty body': { body: '' },
  'no JSON': { body: '{' },
  'a body that is too large': { body: 'x'.repeat(1_100_000) },
  'an unknown field': { body: JSON.stringify({ action: 'enable', categories: 'HTTP', durations: 5 }) },
  'a body of another version': { body: JSON.stringify({ protocol: 'rdcp/9.9' }) },
  'a body with a category that is not known': { body: JSON.stringify({ ...JSON.parse(control({}, 'NOWHERE')) }) },
  'a forecast of a category that is not known': { body: JSON.stringify({ categories: 'NOWHERE' }) },
  'a code that was never made': { body: JSON.stringify({ code: 'abc' }) },
  'one temporary control': { body: control({ duration: '5m' }) },
  'one too many': { body: control({ duration: '5m' }, 'DATABASE') },
  'a request id': { body: JSON.stringify({ action: 'status' }), headers: ['X-RDCP-Request-ID: once'] },
  'the same with another body': { body: control({}), headers: ['X-RDCP-Request-ID: once'] },
  'a form without a grant': { body: 'grant_type=', type: FORM },
  'a form in another encoding': { body: 'a=b', type: `${FORM}; charset=utf-16` },
  'a field twice, whose name may not be shown': { body: '"\\%0a%C3%A9=1&"\\%0a%C3%A9=2', type: FORM },
  'a form with a wrong client': {
    body: 'grant_type=client_credentials&client_id=a&client_secret=b&token=x',
    type: FORM,
  },
};

const CLIENT = { client_id: 'admin-client', client_secret: KEYS.admin };
const form = (fields: Record<string, string>) => new URLSearchParams(fields).toString();
const forever = () => new Promise<never>(() => undefined);
const bug = () => {
  throw new Error('a bug');
};
const away = () => {
  throw unavailable('The credential cannot be verified at the moment');
};
const authenticateBy =
  (authenticate: () => Promise<never>): NonNullable<TestServerOptions['wrap']> =>
  ({ authenticator }) => ({ authenticator: { ...authenticator, authenticate } });
const failingTrail = async () => {
  throw new RdcpError('RDCP_AUDIT_WRITE_FAILED', 'The change could not be audited, so it was not applied');
};

const CLOSING = 'a server that closes';
const SPENT = 'a spent quota';
const UNAUDITED = 'a trail that cannot be written, where everything must be';

/** Requests that there is nothing wrong with. */
const ASKING: Readonly<Record<string, Sent>> = {
  [PATHS.control]: { body: control({}) },
  [PATHS.forecast]: { body: JSON.stringify({ categories: 'HTTP', duration: 1 }) },
  [PATHS.tail]: { query: '?categories=HTTP' },
  [PATHS.failures]: { body: '{}' },
  [TOKEN_PATHS.token]: { body: form({ grant_type: 'client_credentials', ...CLIENT }) },
  [TOKEN_PATHS.revoke]: { body: form({ token: 'x', ...CLIENT }) },
};

/** A tail that is asked for by a body begins, unless it cannot be audited. */
function askingOf(route: Route, what: string): Sent {
  if (nameOf(route) !== `POST ${PATHS.tail}`) return ASKING[route.path] ?? {};
  return what === UNAUDITED ? { body: JSON.stringify({ categories: 'HTTP' }) } : {};
}

/** Servers on which something is wrong, for whoever asks. */
const CONDITIONS: Readonly<Record<string, TestServerOptions>> = {
  'a bug': { wrap: authenticateBy(async () => bug()) },
  'a bug in the tokens': {
    wrap: ({ tokens }) => ({
      tokens: withMembers(tokens as never, { grant: bug, revoke: bug, publishedKeys: bug } as never),
    }),
  },
  'an issuer that is away': { wrap: authenticateBy(async () => away()) },
  'a trail that cannot be read': {
    wrap: ({ trail }) => ({ trail: withMembers(trail, { query: async () => away() }) }),
  },
  [UNAUDITED]: {
    wrap: ({ config, trail, plane }) => ({
      config: { ...config, security: { ...config.security, level: 'enterprise' } },
      trail: withMembers(trail, { record: failingTrail }),
      plane: withMembers(plane, { control: failingTrail }),
    }),
  },
  [CLOSING]: {},
  [SPENT]: { config: { limits: { controlPerMinute: 1, readPerMinute: 1, anonymousPerMinute: 1, healthPerMinute: 1 } } },
  'work that does not end': {
    config: { limits: { requestTimeoutSeconds: 1 } },
    wrap: ({ tokens, authenticator }) => ({
      tokens: withMembers(tokens as never, { grant: forever, revoke: forever } as never),
      authenticator: { ...authenticator, authenticate: forever },
    }),
  },
  'a store that is away': {
    wrap: ({ plane }) => ({
      plane: withMembers(plane, { control: async () => away() }),
      fleet: { members: away } as never,
    }),
  },
};

test('every endpoint answers the errors that are documented of it, and no others', async (t) => {
  const config = everything(t);
  const seen = new Map<string, Set<string>>();
  let requests = 0;

  async function ask(connection: KeptConnection, server: TestServer, route: Route, what: string, sent: Sent) {
    if (sent.body !== undefined && route.method === 'GET') return undefined;
    requests += 1;
    // HEAD checks what GET does, and no stream begins.
    const begins = what !== UNAUDITED || route.path === PATHS.events;
    if (isStream(route) && sent.method === undefined && begins) {
      const { status } = await connection.exchange(requestOf(server, route, { ...sent, method: 'HEAD' }));
      if (status === 200) return undefined;
    }
    const answer = await connection.exchange(requestOf(server, route, sent));
    const found = judged(route, answer, `${nameOf(route)}, ${what}: ${answer.status} ${answer.body.slice(0, 300)}`);
    const codes = seen.get(nameOf(route)) ?? new Set();
    seen.set(nameOf(route), found === undefined ? codes : codes.add(found));
    return answer;
  }

  function connectTo(server: TestServer): KeptConnection {
    const connection = new KeptConnection(server.url);
    t.after(() => connection.close());
    return connection;
  }

  const usual = await startServer(t, { config });
  const connection = connectTo(usual);
  for (const route of SERVED) {
    for (const [what, sent] of Object.entries(REQUESTS)) await ask(connection, usual, route, what, sent);
  }
  assert.deepEqual(usual.reports, []);

  const conditions = Object.entries(CONDITIONS).map(async ([what, { config: more, wrap }]) => {
    const server = await startServer(t, { config: { ...config, ...more }, ...(wrap && { wrap }) });
    if (what === CLOSING) server.startClosing();
    const asked = SERVED.map(async (route) => {
      const own = connectTo(server);
      // A quota of one request is spent by the first.
      for (let count = 0; count < (what === SPENT ? 2 : 1); count++) {
        await ask(own, server, route, what, askingOf(route, what));
      }
    });
    await Promise.all(asked);
  });
  await Promise.all(conditions);

  const { promise: stored, resolve: store } = Promise.withResolvers<void>();
  const { promise: working, resolve: work } = Promise.withResolvers<void>();
  let fails = false;
  const slow = await startServer(t, {
    config,
    wrap: ({ config, trail }) => ({
      config: { ...config, security: { ...config.security, level: 'enterprise' } },
      trail: withMembers(trail, { record: (draft) => (fails ? failingTrail() : trail.record(draft)) }),
    }),
    store: slowly(() => {
      work();
      return stored;
    }),
  });
  const routeOf = (path: string) => SERVED.find((route) => route.path === path) as Route;
  const made = await ask(connectTo(slow), slow, routeOf(CONSOLE_PATHS.code), 'a code', {});
  fails = true;
  const { code } = JSON.parse(made?.body ?? '');
  const body = JSON.stringify({ code });
  await ask(connectTo(slow), slow, routeOf(CONSOLE_PATHS.session), 'a session that cannot be audited', { body });
  const busy = { body: control({}), headers: ['X-RDCP-Request-ID: busy'] };
  const atWork = ask(connectTo(slow), slow, routeOf(PATHS.control), 'a request at work', busy);
  await working;
  await ask(connectTo(slow), slow, routeOf(PATHS.control), 'a request id at work', busy);
  store();
  await atWork;

  t.diagnostic(`${requests} requests to ${SERVED.length} routes`);
  const documented = documentedErrors();
  const expected = new Map<string, string[]>();
  for (const [name, oauth] of SERVED.map((route) => [nameOf(route), OAUTH_ERRORS[route.path]] as const)) {
    const own = documented.get(name);
    assert.ok(oauth !== undefined || own !== undefined, `the errors of ${name} are documented`);
    expected.set(name, (oauth ?? [...(documented.get(EVERY) ?? []), ...(own ?? [])]).toSorted());
  }
  const judgedOf = new Map(
    [...seen].map(([name, codes]) => [name, [...codes].filter((code) => !ANYWHERE.includes(code)).sort()]),
  );
  assert.deepEqual(Object.fromEntries(judgedOf), Object.fromEntries(expected));
  const all = new Set([...seen.values()].flatMap((codes) => [...codes]).filter((code) => code.includes('RDCP_')));
  const NEVER = '500 RDCP_CONFIG_INVALID';
  const table = tableOf('docs/endpoint.md', '| `code` |').map(([cell, status]) => `${status} ${codeIn(cell)[0]}`);
  assert.deepEqual([...all, NEVER].sort(), table.sort());
  for (const name of documented.keys()) assert.ok(name === EVERY || seen.has(name), `${name} is an endpoint`);
});

/** A store whose changes of settings take as long as `wait`. */
function slowly(wait: () => Promise<void>): StateStore {
  const store = createMemoryStore();
  return withMembers(store, {
    async commit(commit) {
      if (commit.state !== undefined) await wait();
      return store.commit(commit);
    },
  });
}

const EVERY = 'every endpoint';

/** What may happen at any endpoint, and is not documented of each. */
const ANYWHERE: readonly string[] = [
  '500 RDCP_SERVER_ERROR',
  '504 RDCP_TIMEOUT',
  '500 temporarily_unavailable',
  '504 temporarily_unavailable',
];

/** The errors of the endpoints of OAuth, which docs/oauth.md has in words. */
const REFUSED = [400, 403, 405, 406].map((status) => `${status} invalid_request`);
const SPENT_OR_AWAY = [429, 503].map((status) => `${status} temporarily_unavailable`);
const OF_FORMS = [...REFUSED, ...SPENT_OR_AWAY, '401 invalid_client', '413 invalid_request', '415 invalid_request'];
const OAUTH_ERRORS: Readonly<Record<string, readonly string[]>> = {
  [TOKEN_PATHS.token]: OF_FORMS,
  [TOKEN_PATHS.revoke]: OF_FORMS,
  [TOKEN_PATHS.jwks]: [...REFUSED, ...SPENT_OR_AWAY],
  [TOKEN_PATHS.metadata]: [...REFUSED, ...SPENT_OR_AWAY],
};

/** The documented errors by endpoint. */
function documentedErrors(): Map<string, string[]> {
  const documented = new Map<string, string[]>();
  for (const [where = '', codes] of tableOf('docs/endpoint.md', '| endpoint | errors |')) {
    const found = codeIn(codes).map((code) => `${ERROR_STATUS[code as keyof typeof ERROR_STATUS]} ${code}`);
    const names = where === EVERY ? [EVERY] : codeIn(where);
    for (const name of names) documented.set(name, [...(documented.get(name) ?? []), ...found]);
  }
  return documented;
}
