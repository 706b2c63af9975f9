import { METHODS } from 'node:http';
import { HEADERS, PATHS } from '../../../src/wire/constants.ts';
import type { ErrorCode } from '../../../src/wire/errors.ts';
import { CATEGORIES } from '../../support/categories.ts';
import { KEYS } from '../../support/server.ts';
import { bytesOf, type Draft, MALFORMED, withHeader } from './draft.ts';

// Requests that come close to a right one, or that chance would hardly make. Each has one right answer.

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
  ['request id', 400, MALFORMED, header(HEADERS.requestId), ['x'.repeat(256)]],
  ['client id', 400, MALFORMED, header(HEADERS.clientId), ['x'.repeat(256)]],
  ['version', 400, 'RDCP_VERSION_UNSUPPORTED', header(HEADERS.protocol), ['rdcp/2.0', 'rdcp/1', 'RDCP/1.0']],
  [
    'Content-Type',
    415,
    'RDCP_MEDIA_UNSUPPORTED',
    header('Content-Type'),
    [
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
      ...[`"${'A'.repeat(65)}"`, '{"length":1,"0":"HTTP"}', deep(20_000, '[', ']')],
    ],
  ],
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
];

export const KNOWN = ROWS.flatMap(([what, status, code, spoil, values]) =>
  values.map((value) => ({ name: `${what}: ${value.slice(0, 60)}`, bytes: bytesOf(spoil(value)), status, code })),
);
