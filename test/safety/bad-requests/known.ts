import { METHODS } from 'node:http';
import { HEADERS, PATHS } from '../../../src/wire/constants.ts';
import type { ErrorCode } from '../../../src/wire/errors.ts';
import { CATEGORIES } from '../../support/categories.ts';
import { KEYS } from '../../support/server.ts';
import { bytesOf, type Draft, type Header, MALFORMED, withHeader } from './draft.ts';

// Requests that come close to a right one, or that chance would hardly make. Each has one right answer.

/** Which a server that takes a wrong boundary would carry out. */
const SMUGGLED = `POST ${PATHS.control} HTTP/1.1\r\nHost: localhost\r\n${HEADERS.apiKey}: ${KEYS.operator}\r\nContent-Type: application/json\r\nContent-Length: 39\r\n\r\n{"action":"enable","categories":"HTTP"}`;

const RIGHT: Draft = {
  method: 'POST',
  target: PATHS.control,
  headers: [
    ['Host', 'localhost'],
    [HEADERS.apiKey, KEYS.operator],
    ['Content-Type', 'application/json'],
  ],
  body: { action: 'enable', categories: [...CATEGORIES] },
};
const KEYLESS = withHeader(RIGHT, HEADERS.apiKey);

const header = (name: string) => (value: string) => withHeader(RIGHT, name, value);
const target = (value: string): Draft => ({ ...RIGHT, target: value });
const bytes = (body: Buffer): Draft => ({ ...RIGHT, body });
const text = (body: string) => bytes(Buffer.from(body));
const enable = (rest: string) => text(`{"action":"enable","categories":"HTTP",${rest}}`);
const category = (name: string) => text(`{"action":"enable","categories":${name}}`);
const deep = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth);

/** The head without the empty line that ends it is changed, and a request that is right follows. */
const head =
  (change: (head: string, value: string) => string) =>
  (value: string): Draft => ({
    ...RIGHT,
    damage: (whole) => {
      const end = whole.indexOf('\r\n\r\n');
      const changed = Buffer.from(change(whole.subarray(0, end).toString('latin1'), value), 'latin1');
      return Buffer.concat([changed, whole.subarray(end), Buffer.from(SMUGGLED)]);
    },
  });
const LENGTH = /Content-Length: \d+/;
/** In place of everything. */
const instead = (value: string): Draft => ({ ...RIGHT, damage: () => Buffer.from(`${value}\r\n\r\n`, 'latin1') });

type Row = readonly [
  what: string,
  status: number,
  code: ErrorCode,
  spoil: (value: string) => Draft,
  values: readonly string[],
];

const admin = KEYS.admin;
const path = '/rdcp/v1';
const ROWS: readonly Row[] = [
  ['no credential', 401, 'RDCP_AUTH_REQUIRED', () => KEYLESS, ['']],
  [
    'API key',
    401,
    'RDCP_AUTH_FAILED',
    header(HEADERS.apiKey),
    [
      ...['', `${admin}x`, admin.slice(0, -1), admin.toUpperCase(), `${admin},${admin}`, '__proto__', '*'],
      ...['x', 'x'.repeat(40), 'x'.repeat(5000), `sha256:${'0'.repeat(64)}`, "' OR '1'='1"],
    ],
  ],
  [
    'Authorization',
    401,
    'RDCP_AUTH_FAILED',
    (value) => withHeader(KEYLESS, 'Authorization', value),
    ['Bearer', 'Bearer x', `Bearer ${admin}`],
  ],
  [
    'another scheme',
    401,
    'RDCP_AUTH_REQUIRED',
    (value) => withHeader(KEYLESS, 'Authorization', value),
    ['Basic YTpi', 'Digest x', 'Negotiate x', 'Bearer, x'],
  ],
  [
    'a key in the query',
    401,
    'RDCP_AUTH_REQUIRED',
    (name) => ({ ...KEYLESS, target: `${PATHS.control}?${name}=${admin}` }),
    ['key', 'api_key', 'access_token', HEADERS.apiKey],
  ],
  ['two credentials', 400, MALFORMED, header('Authorization'), ['Bearer x', `Bearer ${admin}`]],
  ['a key without the scope', 403, 'RDCP_FORBIDDEN', header(HEADERS.apiKey), [KEYS.discovery, KEYS.status]],
  [
    'named method',
    401,
    'RDCP_AUTH_FAILED',
    header(HEADERS.authMethod),
    ['bearer', 'mtls', 'hybrid', 'API-KEY', 'none', ''],
  ],
  [
    'a header of a proxy in place of a credential',
    401,
    'RDCP_AUTH_REQUIRED',
    (name) => withHeader(KEYLESS, name, 'admin'),
    ['X-Forwarded-User', 'X-SSL-Client-Cert', 'X-Forwarded-Client-Cert', 'Cookie'],
  ],
  ['Host', 400, MALFORMED, header('Host'), ['localhost/evil', 'user@localhost', 'localhost:99999999', '::1', '[::1']],
  [
    'Origin',
    403,
    'RDCP_FORBIDDEN',
    header('Origin'),
    [
      'null',
      '',
      'http://localhost:1234',
      'https://localhost',
      'http://localhost.evil.test',
      'http://127.0.0.1',
      'file://',
    ],
  ],
  ['no Host', 400, MALFORMED, () => withHeader(RIGHT, 'Host'), ['']],
  [
    'doubled header',
    400,
    MALFORMED,
    (name) => withHeader(RIGHT, name, 'localhost', 'localhost'),
    [...Object.values(HEADERS), 'Host', 'Content-Type', 'Date', 'Authorization'],
  ],
  [
    'too many headers',
    400,
    MALFORMED,
    (count) => ({
      ...RIGHT,
      headers: [...RIGHT.headers, ...Array.from({ length: Number(count) }, (_, index): Header => [`X-${index}`, '1'])],
    }),
    ['100', '150'],
  ],
  ['a head that is too long', 431, 'RDCP_REQUEST_TOO_LARGE', header('X-Long'), ['x'.repeat(17_000)]],
  ['tenant', 400, MALFORMED, header(HEADERS.tenantId), ['acme', 'global', '*', '']],
  ['isolation level', 400, MALFORMED, header(HEADERS.isolationLevel), ['global', 'organization', '']],
  ['Date', 400, MALFORMED, header('Date'), ['soon', '', 'Wed, 01 Jan 2020 00:00:00 GMT']],
  ['Content-Encoding', 415, 'RDCP_MEDIA_UNSUPPORTED', header('Content-Encoding'), ['gzip', 'br', 'x']],
  ['request id', 400, MALFORMED, header(HEADERS.requestId), ['x'.repeat(256)]],
  ['client id', 400, MALFORMED, header(HEADERS.clientId), ['x'.repeat(256)]],
  ['version', 400, 'RDCP_VERSION_UNSUPPORTED', header(HEADERS.protocol), ['rdcp/2.0', 'rdcp/1', 'RDCP/1.0']],
  [
    'Content-Type',
    415,
    'RDCP_MEDIA_UNSUPPORTED',
    header('Content-Type'),
    [
      ...['utf-16', 'latin1', 'utf-7', 'x'].map((charset) => `application/json; charset=${charset}`),
      'application/json; charset=utf-8; charset=utf-16',
      'application/json, text/plain',
      'application/vnd.rdcp.v2+json',
      'application/problem+json',
      'text/json',
    ],
  ],
  ['no Content-Type', 415, 'RDCP_MEDIA_UNSUPPORTED', () => withHeader(RIGHT, 'Content-Type'), ['']],
  [
    'path',
    404,
    'RDCP_NOT_FOUND',
    target,
    [
      ...['/', '//control', '/./control', '/../v1/control', '/%63ontrol', '/control%2f'].map((rest) => path + rest),
      ...['/CONTROL', '/control;a=b', '/control\\', '/__proto__', '/..%2f..%2fetc/passwd', '/%zz'].map(
        (rest) => path + rest,
      ),
      ...['/RDCP/v1/control', '/.well-known/rdcp/', `ftp://localhost${PATHS.control}`],
    ],
  ],
  ['target', 400, MALFORMED, target, ['\\rdcp\\v1\\status', 'status', '?x=1', 'http://', 'http://ada:x@localhost']],
  [
    'method',
    405,
    'RDCP_METHOD_NOT_ALLOWED',
    (method) => ({ ...RIGHT, method, body: Buffer.alloc(0) }),
    // Node answers the first itself; the answers to the second have no body.
    METHODS.filter((method) => !['CONNECT', 'HEAD', 'POST'].includes(method)),
  ],
  [
    'JSON',
    400,
    MALFORMED,
    text,
    [
      '',
      '{"action":"enable","categories":"HTTP",}',
      "{'action':'enable','categories':'HTTP'}",
      '{"action":"enable","categories":"HTTP"}{"action":"disable"}',
      '\ufeff{"action":"enable","categories":"HTTP"}',
      deep(20_000, '[', ']'),
      deep(9000, '{"a":', '}'),
      `{${'"action":"enable",'.repeat(3000)}"categories":""}`,
    ],
  ],
  [
    'category',
    400,
    MALFORMED,
    category,
    [
      ...['"http"', '"HTTP "', '"HTTP\\u0000"', '"__proto__"', '"*"', '"ＨＴＴＰ"', '["HTTP",null]'],
      ...[`"${'A'.repeat(65)}"`, '{"length":1,"0":"HTTP"}', deep(20_000, '[', ']'), '["HTTP","HTTP"]'],
    ],
  ],
  ['a category that does not exist', 404, 'RDCP_CATEGORY_NOT_FOUND', category, ['"NO_SUCH"', '["HTTP","NO_SUCH"]']],
  [
    'field',
    400,
    MALFORMED,
    enable,
    [
      '"__proto__":{"polluted":true}',
      '"\\u005f_proto__":{"polluted":true}',
      '"constructor":{"prototype":{"polluted":true}}',
      '"options":{"__proto__":{"temporary":true}}',
      `"options":${'{"a":'.repeat(9000)}1${'}'.repeat(9000)}`,
      ...['"25h"', '86401', '"2d"', '1.5', '-1'].map((duration) => `"options":{"duration":${duration}}`),
      '"options":{"temporary":false,"duration":60}',
      ...['', 'a\\r\\nb', 'a\\u0000b', '\\u001b[2J', 'r'.repeat(501)].map(
        (reason) => `"options":{"reason":"${reason}"}`,
      ),
      ...['durration', 'expiresAt', 'constructor'].map((name) => `"options":{"${name}":true}`),
    ],
  ],
  [
    'bytes that are no UTF-8',
    400,
    MALFORMED,
    (hex) =>
      bytes(
        Buffer.from(
          `{"action":"reset","options":{"reason":"${Buffer.from(hex, 'hex').toString('latin1')}"}}`,
          'latin1',
        ),
      ),
    ['ff', 'c0af', 'eda080', 'f4908080', 'c3', '80', '1f8b08'],
  ],
  [
    'a body without end, in chunks',
    413,
    'RDCP_REQUEST_TOO_LARGE',
    (chunk) => ({
      ...RIGHT,
      damage: (whole) => {
        const head = whole
          .toString()
          .split('\r\n\r\n')[0]
          ?.replace(/Content-Length: \d+/, 'Transfer-Encoding: chunked');
        return Buffer.from(`${head}\r\n\r\n${`4000\r\n${chunk}\r\n`.repeat(6)}0\r\n\r\n`);
      },
    }),
    [' '.repeat(0x4000)],
  ],
  [
    'two kinds of length',
    400,
    MALFORMED,
    head((text, coding) => `${text}\r\nTransfer-Encoding: ${coding}`),
    ['chunked', 'Chunked', ' chunked', 'chunked\t', 'identity', 'gzip, chunked'],
  ],
  ['two lengths', 400, MALFORMED, head((text, length) => `${text}\r\nContent-Length: ${length}`), ['0', '5', '99']],
  [
    'a length that is none',
    400,
    MALFORMED,
    head((text, length) => text.replace(LENGTH, `Content-Length: ${length}`)),
    ['-1', '+5', '0x10', '1e3', '5,5', '5 5', '1.0', '99999999999999999999999', 'x', ';'],
  ],
  [
    'a transfer coding that is not known',
    400,
    MALFORMED,
    head((text, coding) => text.replace(LENGTH, `Transfer-Encoding: ${coding}`)),
    ['gzip', 'identity', 'xchunked', 'chunked, gzip', 'chunked;q=1', 'chunkedchunked'],
  ],
  [
    'a chunk without a size',
    400,
    MALFORMED,
    head((text, size) => `${text.replace(LENGTH, 'Transfer-Encoding: chunked')}\r\n\r\n${size}\r\n{"a":\r\n0`),
    ['zz', '-1', '0x5', ' 5', '5 ;', 'fffffffffffffffff', '5\n'],
  ],
  [
    'a header that is none',
    400,
    MALFORMED,
    head((text, line) => `${text}\r\n${line}`),
    [
      ...['X-A : b', ': b', 'X A: b', 'no colon', 'X-A: b\u0000c', 'X-A: b\rc', 'X-A\u0001: b', '@: b', '(x): y'],
      ...['\u0001', '\u0002', '\u0008'].map((character) => `X-A: ${character}`),
    ],
  ],
  [
    'a version that is none',
    400,
    MALFORMED,
    head((text, version) => text.replace('HTTP/1.1', version)),
    ['HTTP/9.9', 'HTTP/1.2', 'HTTP/1', 'HTTP/11', 'http/1.1', 'HTTP/1.1x', 'HTTQ/1.1', '1.1', ''],
  ],
  [
    'no HTTP at all',
    400,
    MALFORMED,
    instead,
    [
      '\u0016\u0003\u0001\u0002\u0000\u0001',
      '{"action":"enable"}',
      'enable HTTP',
      '\u00ff\u00fe',
      'SSH-2.0-x',
      '\u0000',
    ],
  ],
  [
    'another request behind it',
    403,
    'RDCP_FORBIDDEN',
    (origin) => ({ ...header('Origin')(origin), damage: (whole) => Buffer.concat([whole, Buffer.from(SMUGGLED)]) }),
    ['https://evil.test'],
  ],
];

export const KNOWN = ROWS.flatMap(([what, status, code, spoil, values]) =>
  values.map((value) => ({ name: `${what}: ${value.slice(0, 60)}`, bytes: bytesOf(spoil(value)), status, code })),
);
