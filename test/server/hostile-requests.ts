import { METHODS as NODE_METHODS } from 'node:http';
import { HEADERS, MAX_BODY_BYTES, PATHS, RDCP_MEDIA_TYPE } from '../../src/protocol/constants.ts';
import { requestText } from '../support/raw-http.ts';
import { KEYS } from '../support/server.ts';

// Requests that an attacker, or a broken client, would send. Each has one right answer.

export interface HostileRequest {
  readonly name: string;
  readonly bytes: string | Buffer;
  readonly status: number;
  readonly code: string;
}

type Header = readonly [name: string, value: string];

const HOST: Header = ['Host', 'localhost'];
const KEY: Header = [HEADERS.apiKey, KEYS.operator];
const ADMIN: Header = [HEADERS.apiKey, KEYS.admin];
const JSON_TYPE: Header = ['Content-Type', 'application/json'];
/** Would switch everything on, if anything in a refused request had an effect. */
const ENABLE = '{"action":"enable","categories":["DATABASE","HTTP","X-CUSTOM"]}';

function get(target: string, ...headers: Header[]): string {
  return requestText('GET', target, [HOST, KEY, ...headers]);
}

function post(body: string | Buffer, ...headers: Header[]): Buffer {
  const bytes = Buffer.from(body);
  const length: Header = ['Content-Length', String(bytes.length)];
  return Buffer.concat([Buffer.from(requestText('POST', PATHS.control, [HOST, ...headers, length])), bytes]);
}

const control = (body: string | Buffer, ...headers: Header[]) => post(body, KEY, JSON_TYPE, ...headers);

function cases<T>(
  title: string,
  status: number,
  code: string,
  values: readonly T[],
  bytes: (value: T) => string | Buffer,
): HostileRequest[] {
  return values.map((value) => ({
    name: `${title}: ${String(value).slice(0, 60)}`,
    bytes: bytes(value),
    status,
    code,
  }));
}

/** All that Node reads, without the one that asks for a tunnel, and the one whose answers have no body. */
const METHODS = NODE_METHODS.filter((method) => method !== 'CONNECT' && method !== 'HEAD');

const MALFORMED = 'RDCP_MALFORMED_REQUEST';

const headers: HostileRequest[] = [
  ...cases('doubled on a read', 400, MALFORMED, [...Object.values(HEADERS), 'Host', 'Date', 'Content-Type'], (name) =>
    requestText('GET', PATHS.status, [HOST, KEY, [name, 'localhost'], [name.toLowerCase(), 'localhost']]),
  ),
  ...cases(
    'doubled on a change',
    400,
    MALFORMED,
    [HEADERS.requestId, HEADERS.clientId, HEADERS.tenantId, HEADERS.isolationLevel, HEADERS.authMethod, 'Content-Type'],
    (name) => control(ENABLE, [name, 'api-key'], [name, 'api-key']),
  ),
  ...cases(
    'request id',
    400,
    MALFORMED,
    ['', ' ', 'a b', 'a/b', '../../etc/passwd', 'a,b', '%00', '<script>', 'é', '{}', 'x'.repeat(256), "';--", '\t'],
    (value) => control(ENABLE, [HEADERS.requestId, value]),
  ),
  ...cases('client id', 400, MALFORMED, ['a b', 'a,b', '*', 'x'.repeat(256), '$(id)'], (value) =>
    control(ENABLE, [HEADERS.clientId, value]),
  ),
  ...cases('tenant', 400, MALFORMED, ['acme', '*', 'global', '../other', ''], (value) =>
    control(ENABLE, [HEADERS.tenantId, value]),
  ),
  ...cases('isolation level', 400, MALFORMED, ['global', 'organization', 'none'], (value) =>
    control(ENABLE, [HEADERS.isolationLevel, value]),
  ),
  ...cases(
    'Date',
    400,
    MALFORMED,
    ['Thu, 01 Jan 1970 00:00:00 GMT', 'Fri, 31 Dec 9999 23:59:59 GMT', 'now', '0', '2026-01-01', 'NaN', ''],
    (value) => control(ENABLE, ['Date', value]),
  ),
  {
    name: 'more header fields than are read',
    bytes: control(ENABLE, ...Array.from({ length: 110 }, (_, index): Header => [`X-Pad-${index}`, '1'])),
    status: 400,
    code: MALFORMED,
  },
];

const versions: HostileRequest[] = [
  ...cases('version', 400, 'RDCP_VERSION_UNSUPPORTED', ['rdcp/2.0', 'rdcp/1', 'RDCP/1.0', '', 'http/1.1'], (value) =>
    control(ENABLE, [HEADERS.protocol, value]),
  ),
  ...cases('version in the path', 400, 'RDCP_VERSION_UNSUPPORTED', ['/rdcp/v2/status', '/rdcp/v10/control'], (path) =>
    get(path),
  ),
  ...cases('version in Accept', 400, 'RDCP_VERSION_UNSUPPORTED', ['application/vnd.rdcp.v2+json'], (value) =>
    get(PATHS.status, ['Accept', value]),
  ),
  ...cases(
    'Accept',
    406,
    'RDCP_MEDIA_NOT_ACCEPTABLE',
    ['text/html', 'application/xml', 'application/json;q=0', 'image/*', '\\', `text/plain,${'a/b,'.repeat(2000)}`],
    (value) => get(PATHS.status, ['Accept', value]),
  ),
];

const media: HostileRequest[] = [
  ...cases(
    'Content-Type',
    415,
    'RDCP_MEDIA_UNSUPPORTED',
    [
      'text/plain',
      'text/json',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/xml',
      'application/json; charset=utf-16',
      'application/json; charset=latin1',
      'application/json; charset=utf-7',
      'application/json; charset=utf-8; charset=utf-16',
      'application/vnd.rdcp.v2+json',
      'application/problem+json',
      'application/jsonp',
      'application/json, text/plain',
      'json',
      '*/*',
      '',
    ],
    (value) => post(ENABLE, KEY, ['Content-Type', value]),
  ),
  { name: 'no Content-Type', bytes: post(ENABLE, KEY), status: 415, code: 'RDCP_MEDIA_UNSUPPORTED' },
  ...cases(
    'Content-Encoding',
    415,
    'RDCP_MEDIA_UNSUPPORTED',
    ['gzip', 'deflate', 'br', 'zstd', 'gzip, identity', 'x-gzip', ''],
    (value) => control(ENABLE, ['Content-Encoding', value]),
  ),
];

const paths: HostileRequest[] = [
  ...cases(
    'path',
    404,
    'RDCP_NOT_FOUND',
    [
      '/',
      '/rdcp',
      '/rdcp/',
      '/rdcp/v1',
      '/rdcp/v1/',
      '/rdcp/v1/status/',
      '/rdcp//v1/status',
      '//rdcp/v1/status',
      '/rdcp/v1//status',
      '/rdcp/v1/./status',
      '/rdcp/v1/../v1/status',
      '/rdcp/v1/%73tatus',
      '/rdcp/v1/status%2f',
      '/rdcp/v1/%2e%2e/v1/status',
      '/%72dcp/v1/status',
      '/RDCP/v1/status',
      '/rdcp/V1/status',
      '/rdcp/v1/STATUS',
      '/rdcp/v1/status;a=b',
      '/rdcp/v1/status#x',
      '/rdcp/v1/status%00',
      '/rdcp/v1/status%20',
      '/rdcp/v1/status\\',
      '/rdcp/v01/status',
      '/rdcp/v0/status',
      '/rdcp/v1/control/x',
      '/rdcp/v1/__proto__',
      '/rdcp/v1/constructor',
      '/rdcp/v1/..%2f..%2fetc/passwd',
      '/.well-known/rdcp/',
      '/.well-known/RDCP',
      '/.well-known/rdcp2',
      '/.well-known/../.well-known/rdcp',
      '/rdcp/v1/%',
      '/rdcp/v1/%zz',
      'http://localhost/rdcp/v1/status/',
      'http://localhost/rdcp/v1/%73tatus',
      'ftp://localhost/rdcp/v1/status',
      `/rdcp/v1/${'a'.repeat(8000)}`,
    ],
    (path) => get(path),
  ),
  ...cases('target', 400, MALFORMED, ['\\rdcp\\v1\\status', 'status', '?x=1'], (target) => get(target)),
  ...[PATHS.status, PATHS.wellKnown, PATHS.audit].flatMap((path) =>
    cases(
      `method on ${path}`,
      405,
      'RDCP_METHOD_NOT_ALLOWED',
      METHODS.filter((method) => method !== 'GET'),
      (method) => requestText(method, path, [HOST, KEY]),
    ),
  ),
  ...cases(
    'method on control',
    405,
    'RDCP_METHOD_NOT_ALLOWED',
    METHODS.filter((method) => method !== 'POST'),
    (method) => requestText(method, PATHS.control, [HOST, KEY]),
  ),
];

const credentials: HostileRequest[] = [
  ...cases(
    'API key',
    401,
    'RDCP_AUTH_FAILED',
    [
      '',
      'x',
      'x'.repeat(40),
      `${KEYS.admin}x`,
      KEYS.admin.slice(0, -1),
      KEYS.admin.toUpperCase(),
      `${KEYS.admin},${KEYS.admin}`,
      'x'.repeat(5000),
      '*',
      'sha256:0000000000000000000000000000000000000000000000000000000000000000',
      "' OR '1'='1",
      '__proto__',
      'é'.repeat(40),
    ],
    (value) => post(ENABLE, [HEADERS.apiKey, value], JSON_TYPE),
  ),
  ...cases('Authorization', 401, 'RDCP_AUTH_FAILED', ['Bearer', 'Bearer x', `Bearer ${KEYS.admin}`], (value) =>
    post(ENABLE, ['Authorization', value], JSON_TYPE),
  ),
  ...cases('another scheme', 401, 'RDCP_AUTH_REQUIRED', ['Basic YTpi', `ApiKey ${KEYS.admin}`], (value) =>
    post(ENABLE, ['Authorization', value], JSON_TYPE),
  ),
  ...cases('named method', 401, 'RDCP_AUTH_FAILED', ['bearer', 'mtls', 'hybrid', 'API-KEY', 'none', ''], (value) =>
    control(ENABLE, [HEADERS.authMethod, value]),
  ),
  ...cases(
    'proxy headers in place of a credential',
    401,
    'RDCP_AUTH_REQUIRED',
    ['X-Forwarded-User', 'X-SSL-Client-Cert', 'X-Forwarded-Client-Cert', 'Cookie'] as const,
    (name) => post(ENABLE, [name, 'admin'], JSON_TYPE),
  ),
  { name: 'no credential', bytes: post(ENABLE, JSON_TYPE), status: 401, code: 'RDCP_AUTH_REQUIRED' },
  {
    name: 'a key in the query',
    bytes: requestText('GET', `${PATHS.status}?${HEADERS.apiKey}=${KEYS.admin}`, [HOST]),
    status: 401,
    code: 'RDCP_AUTH_REQUIRED',
  },
  {
    name: 'two credentials',
    bytes: control(ENABLE, ['Authorization', 'Bearer x']),
    status: 400,
    code: MALFORMED,
  },
  {
    name: 'a key without the scope',
    bytes: post(ENABLE, [HEADERS.apiKey, KEYS.discovery], JSON_TYPE),
    status: 403,
    code: 'RDCP_FORBIDDEN',
  },
];

const origins: HostileRequest[] = [
  ...cases(
    'Host',
    403,
    'RDCP_FORBIDDEN',
    [
      'evil.test',
      'evil.test:9465',
      'localhost.evil.test',
      '127.0.0.1.evil.test',
      'evil.localhost',
      '0.0.0.0',
      '[::]',
      '192.168.0.1',
      '169.254.169.254',
      'localhost.',
      '2130706433',
    ],
    (value) => requestText('GET', PATHS.wellKnown, [['Host', value]]),
  ),
  ...cases(
    'Host that is none',
    400,
    MALFORMED,
    ['', 'a b', 'localhost/evil', 'user@localhost', 'localhost:port', 'localhost:99999999', '::1', '[::1', 'évil'],
    (value) => requestText('GET', PATHS.wellKnown, [['Host', value]]),
  ),
  ...cases(
    'target of another host',
    403,
    'RDCP_FORBIDDEN',
    ['http://evil.test', 'http://0.0.0.0:80', 'https://localhost'],
    (origin) => get(origin + PATHS.status),
  ),
  ...cases('target of no host', 400, MALFORMED, ['http://', 'http://ada:x@localhost', 'http://localhost:x'], (origin) =>
    get(origin + PATHS.status),
  ),
  { name: 'no Host', bytes: requestText('GET', PATHS.wellKnown, []), status: 400, code: MALFORMED },
  ...cases(
    'Origin',
    403,
    'RDCP_FORBIDDEN',
    [
      'https://evil.test',
      'null',
      '',
      'http://localhost:1234',
      'https://localhost',
      'http://localhost.evil.test',
      'http://127.0.0.1',
      'file://',
      'chrome-extension://abcdef',
    ],
    (value) => control(ENABLE, ['Origin', value]),
  ),
];

const deep = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth);

const bodies: HostileRequest[] = [
  ...cases(
    'body',
    400,
    MALFORMED,
    [
      '',
      ' ',
      'null',
      'true',
      '42',
      '"enable"',
      '[]',
      '[{"action":"enable","categories":"HTTP"}]',
      '{',
      '}',
      '{}',
      '{"action":"enable"}',
      '{"action":"enable","categories":"HTTP"',
      '{"action":"enable","categories":"HTTP"}}',
      '{"action":"enable","categories":"HTTP",}',
      "{'action':'enable','categories':'HTTP'}",
      '{action:"enable",categories:"HTTP"}',
      '{"action":"enable","categories":"HTTP"}{"action":"disable"}',
      '{"action":NaN}',
      '\ufeff{"action":"enable","categories":"HTTP"}',
      '{"action":"ENABLE","categories":"HTTP"}',
      '{"action":"enable ","categories":"HTTP"}',
      '{"action":"expire","categories":"HTTP"}',
      '{"action":"__proto__","categories":"HTTP"}',
      '{"action":["enable"],"categories":"HTTP"}',
      '{"action":null,"categories":"HTTP"}',
      '{"action":"enable","categories":null}',
      '{"action":"enable","categories":{}}',
      '{"action":"enable","categories":{"length":1,"0":"HTTP"}}',
      '{"action":"enable","categories":[]}',
      '{"action":"enable","categories":[["HTTP"]]}',
      '{"action":"enable","categories":["HTTP","HTTP"]}',
      '{"action":"enable","categories":["HTTP",1]}',
      '{"action":"enable","categories":["HTTP",null]}',
      '{"action":"enable","categories":"http"}',
      '{"action":"enable","categories":"HTTP "}',
      '{"action":"enable","categories":"HTTP\\u0000"}',
      '{"action":"enable","categories":"HTTP\\n"}',
      '{"action":"enable","categories":"__proto__"}',
      '{"action":"enable","categories":"*"}',
      '{"action":"enable","categories":"ＨＴＴＰ"}',
      `{"action":"enable","categories":"${'A'.repeat(65)}"}`,
      '{"action":"enable","categories":"X-"}',
      '{"action":"enable","categories":"HTTP","options":null}',
      '{"action":"enable","categories":"HTTP","options":[]}',
      '{"action":"enable","categories":"HTTP","options":"temporary"}',
      '{"action":"enable","categories":"HTTP","options":{"temporary":"true"}}',
      '{"action":"enable","categories":"HTTP","options":{"temporary":1}}',
      '{"action":"enable","categories":"HTTP","options":{"temporary":false,"duration":5}}',
      '{"action":"enable","categories":"HTTP","options":{"duration":0}}',
      '{"action":"enable","categories":"HTTP","options":{"duration":-1}}',
      '{"action":"enable","categories":"HTTP","options":{"duration":1.5}}',
      '{"action":"enable","categories":"HTTP","options":{"duration":1e308}}',
      '{"action":"enable","categories":"HTTP","options":{"duration":86401}}',
      '{"action":"enable","categories":"HTTP","options":{"duration":9007199254740993}}',
      '{"action":"enable","categories":"HTTP","options":{"duration":"999999999999999d"}}',
      '{"action":"enable","categories":"HTTP","options":{"duration":"1w"}}',
      '{"action":"enable","categories":"HTTP","options":{"duration":"1h30m"}}',
      '{"action":"enable","categories":"HTTP","options":{"duration":"-5m"}}',
      '{"action":"enable","categories":"HTTP","options":{"duration":"5 m"}}',
      '{"action":"enable","categories":"HTTP","options":{"duration":""}}',
      '{"action":"enable","categories":"HTTP","options":{"duration":[900]}}',
      '{"action":"enable","categories":"HTTP","options":{"duration":{"valueOf":900}}}',
      '{"action":"enable","categories":"HTTP","options":{"durration":900}}',
      '{"action":"enable","categories":"HTTP","options":{"reason":""}}',
      '{"action":"enable","categories":"HTTP","options":{"reason":"a\\r\\nb"}}',
      '{"action":"enable","categories":"HTTP","options":{"reason":"\\u001b[31m"}}',
      `{"action":"enable","categories":"HTTP","options":{"reason":"${'r'.repeat(501)}"}}`,
      '{"action":"enable","categories":"HTTP","options":{"__proto__":{"temporary":true}}}',
      '{"action":"enable","categories":"HTTP","options":{"constructor":{}}}',
      '{"action":"enable","categories":"HTTP","__proto__":{"polluted":true}}',
      '{"action":"enable","categories":"HTTP","\\u005f_proto__":{"polluted":true}}',
      '{"action":"enable","categories":"HTTP","constructor":{"prototype":{"polluted":true}}}',
      '{"action":"enable","categories":"HTTP","toString":1}',
      '{"action":"enable","categories":"HTTP","ключ":1}',
      '{"action":"enable","categories":"HTTP","tenant":"acme"}',
      '{"action":"enable","categories":"HTTP","scopes":["admin"]}',
      '{"action":"reset","options":{"temporary":true}}',
      '{"action":"status","options":{"duration":60}}',
      '{"action":"enable","categories":"HTTP","protocol":1}',
      deep(20_000, '[', ']'),
      deep(9_000, '{"a":', '}'),
      `{"action":"enable","categories":${deep(20_000, '[', ']')}}`,
      `{"action":"enable","categories":"HTTP","options":${'{"a":'.repeat(9000)}1${'}'.repeat(9000)}}`,
      `{${'"action":"enable",'.repeat(3000)}"categories":""}`,
    ],
    (body) => control(body),
  ),
  ...cases('body of another version', 400, 'RDCP_VERSION_UNSUPPORTED', ['rdcp/2.0', '', 'rdcp/1.0 '], (protocol) =>
    control(`{"protocol":"${protocol}","action":"enable","categories":"HTTP","future":true}`),
  ),
  ...cases('bytes that are not UTF-8', 400, MALFORMED, ['ff', 'c0af', 'eda080', 'f4908080', 'c3', '80'], (hex) =>
    control(
      Buffer.concat([
        Buffer.from('{"action":"enable","categories":"HTTP","options":{"reason":"'),
        Buffer.from(hex, 'hex'),
        Buffer.from('"}}'),
      ]),
    ),
  ),
  { name: 'UTF-16', bytes: control(Buffer.from(ENABLE, 'utf16le')), status: 400, code: MALFORMED },
  { name: 'gzip that does not say so', bytes: control(Buffer.from('1f8b08', 'hex')), status: 400, code: MALFORMED },
  ...cases('unknown category', 404, 'RDCP_CATEGORY_NOT_FOUND', ['NO_SUCH', 'X-NO-SUCH', 'PROTOTYPE'], (name) =>
    control(`{"action":"enable","categories":["HTTP","${name}"]}`),
  ),
  ...cases('body of that many bytes', 413, 'RDCP_REQUEST_TOO_LARGE', [MAX_BODY_BYTES + 1, 1_000_000], (size) =>
    control(`{"action":"enable","categories":"HTTP"${' '.repeat(size)}}`),
  ),
  {
    name: 'a body without end, in chunks',
    bytes: Buffer.from(
      `${requestText('POST', PATHS.control, [HOST, KEY, JSON_TYPE, ['Transfer-Encoding', 'chunked']])}${`4000\r\n${' '.repeat(0x4000)}\r\n`.repeat(6)}0\r\n\r\n`,
    ),
    status: 413,
    code: 'RDCP_REQUEST_TOO_LARGE',
  },
  {
    name: 'an empty body in chunks',
    bytes: `${requestText('POST', PATHS.control, [HOST, KEY, JSON_TYPE, ['Transfer-Encoding', 'chunked']])}0\r\n\r\n`,
    status: 400,
    code: MALFORMED,
  },
  {
    name: 'no body at all',
    bytes: requestText('POST', PATHS.control, [HOST, KEY, ['Content-Type', RDCP_MEDIA_TYPE]]),
    status: 400,
    code: MALFORMED,
  },
];

const queries: HostileRequest[] = cases(
  'audit query',
  400,
  MALFORMED,
  ['limit=-1', 'limit=1e3', 'limit=0x10', 'limit=1&limit=1', 'cursor=../../x', 'since=0', 'tenant=acme', '$where=1'],
  (query) => requestText('GET', `${PATHS.audit}?${query}`, [HOST, ADMIN]),
);

export const HOSTILE: readonly HostileRequest[] = [
  ...headers,
  ...versions,
  ...media,
  ...paths,
  ...credentials,
  ...origins,
  ...bodies,
  ...queries,
];
