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

/** What each of the values makes of a right request, and the one answer to it. */
const refused =
  (status: number, code: ErrorCode) => (what: string, spoil: (value: string) => Draft, values: readonly string[]) =>
    values.map((value) => ({ name: `${what}: ${value.slice(0, 60)}`, bytes: bytesOf(spoil(value)), status, code }));
const malformed = refused(400, MALFORMED);
const noCredential = refused(401, 'RDCP_AUTH_REQUIRED');
const wrongCredential = refused(401, 'RDCP_AUTH_FAILED');
const forbidden = refused(403, 'RDCP_FORBIDDEN');
const unsupported = refused(415, 'RDCP_MEDIA_UNSUPPORTED');

const admin = KEYS.admin;
const path = '/rdcp/v1';
export const KNOWN = [
  ...noCredential('no credential', () => KEYLESS, ['']),
  ...wrongCredential('API key', header(HEADERS.apiKey), [
    ...['', `${admin}x`, admin.slice(0, -1), admin.toUpperCase(), `${admin},${admin}`, '__proto__', '*'],
    ...['x', 'x'.repeat(40), 'x'.repeat(5000), `sha256:${'0'.repeat(64)}`, "' OR '1'='1"],
  ]),
  ...wrongCredential('Authorization', (value) => withHeader(KEYLESS, 'Authorization', value), [
    'Bearer',
    'Bearer x',
    `Bearer ${admin}`,
  ]),
  ...noCredential('another scheme', (value) => withHeader(KEYLESS, 'Authorization', value), [
    'Basic YTpi',
    'Digest x',
    'Negotiate x',
    'Bearer, x',
  ]),
  ...noCredential('a key in the query', (name) => ({ ...KEYLESS, target: `${PATHS.control}?${name}=${admin}` }), [
    'key',
    'api_key',
    'access_token',
    HEADERS.apiKey,
  ]),
  ...malformed('two credentials', header('Authorization'), ['Bearer x', `Bearer ${admin}`]),
  ...forbidden('a key without the scope', header(HEADERS.apiKey), [KEYS.discovery, KEYS.status]),
  ...wrongCredential('named method', header(HEADERS.authMethod), ['bearer', 'mtls', 'hybrid', 'API-KEY', 'none', '']),
  ...noCredential('a header of a proxy in place of a credential', (name) => withHeader(KEYLESS, name, 'admin'), [
    'X-Forwarded-User',
    'X-SSL-Client-Cert',
    'X-Forwarded-Client-Cert',
    'Cookie',
  ]),
  ...malformed('Host', header('Host'), ['localhost/evil', 'user@localhost', 'localhost:99999999', '::1', '[::1']),
  ...forbidden('Origin', header('Origin'), [
    'null',
    '',
    'http://localhost:1234',
    'https://localhost',
    'http://localhost.evil.test',
    'http://127.0.0.1',
    'file://',
  ]),
  ...malformed('no Host', () => withHeader(RIGHT, 'Host'), ['']),
  ...malformed('doubled header', (name) => withHeader(RIGHT, name, 'localhost', 'localhost'), [
    ...Object.values(HEADERS),
    'Host',
    'Content-Type',
    'Date',
    'Authorization',
  ]),
  ...malformed(
    'too many headers',
    (count) => ({
      ...RIGHT,
      headers: [...RIGHT.headers, ...Array.from({ length: Number(count) }, (_, index): Header => [`X-${index}`, '1'])],
    }),
    ['100', '150'],
  ),
  ...refused(431, 'RDCP_REQUEST_TOO_LARGE')('a head that is too long', header('X-Long'), ['x'.repeat(17_000)]),
  ...malformed('tenant', header(HEADERS.tenantId), ['acme', 'global', '*', '']),
  ...malformed('isolation level', header(HEADERS.isolationLevel), ['global', 'organization', '']),
  ...malformed('Date', header('Date'), ['soon', '', 'Wed, 01 Jan 2020 00:00:00 GMT']),
  ...unsupported('Content-Encoding', header('Content-Encoding'), ['gzip', 'br', 'x']),
  ...malformed('request id', header(HEADERS.requestId), ['x'.repeat(256)]),
  ...malformed('client id', header(HEADERS.clientId), ['x'.repeat(256)]),
  ...refused(400, 'RDCP_VERSION_UNSUPPORTED')('version', header(HEADERS.protocol), ['rdcp/2.0', 'rdcp/1', 'RDCP/1.0']),
  ...unsupported('Content-Type', header('Content-Type'), [
    ...['utf-16', 'latin1', 'utf-7', 'x'].map((charset) => `application/json; charset=${charset}`),
    'application/json; charset=utf-8; charset=utf-16',
    'application/json, text/plain',
    'application/vnd.rdcp.v2+json',
    'application/problem+json',
    'text/json',
  ]),
  ...unsupported('no Content-Type', () => withHeader(RIGHT, 'Content-Type'), ['']),
  ...refused(404, 'RDCP_NOT_FOUND')('path', target, [
    ...['/', '//control', '/./control', '/../v1/control', '/%63ontrol', '/control%2f'].map((rest) => path + rest),
    ...['/CONTROL', '/control;a=b', '/control\\', '/__proto__', '/..%2f..%2fetc/passwd', '/%zz'].map(
      (rest) => path + rest,
    ),
    ...['/RDCP/v1/control', '/.well-known/rdcp/', `ftp://localhost${PATHS.control}`],
  ]),
  ...malformed('target', target, ['\\rdcp\\v1\\status', 'status', '?x=1', 'http://', 'http://ada:x@localhost']),
  ...refused(405, 'RDCP_METHOD_NOT_ALLOWED')(
    'method',
    (method) => ({ ...RIGHT, method, body: Buffer.alloc(0) }),
    // Node answers the first itself; the answers to the second have no body.
    METHODS.filter((method) => !['CONNECT', 'HEAD', 'POST'].includes(method)),
  ),
  ...malformed('JSON', text, [
    '',
    '{"action":"enable","categories":"HTTP",}',
    "{'action':'enable','categories':'HTTP'}",
    '{"action":"enable","categories":"HTTP"}{"action":"disable"}',
    '\ufeff{"action":"enable","categories":"HTTP"}',
    deep(20_000, '[', ']'),
    deep(9000, '{"a":', '}'),
    `{${'"action":"enable",'.repeat(3000)}"categories":""}`,
  ]),
  ...malformed('category', category, [
    ...['"http"', '"HTTP "', '"HTTP\\u0000"', '"__proto__"', '"*"', '"ＨＴＴＰ"', '["HTTP",null]'],
    ...[`"${'A'.repeat(65)}"`, '{"length":1,"0":"HTTP"}', deep(20_000, '[', ']'), '["HTTP","HTTP"]'],
  ]),
  ...refused(404, 'RDCP_CATEGORY_NOT_FOUND')('a category that does not exist', category, [
    '"NO_SUCH"',
    '["HTTP","NO_SUCH"]',
  ]),
  ...malformed('field', enable, [
    '"__proto__":{"polluted":true}',
    '"\\u005f_proto__":{"polluted":true}',
    '"constructor":{"prototype":{"polluted":true}}',
    '"options":{"__proto__":{"temporary":true}}',
    `"options":${'{"a":'.repeat(9000)}1${'}'.repeat(9000)}`,
    ...['"25h"', '86401', '"2d"', '1.5', '-1'].map((duration) => `"options":{"duration":${duration}}`),
    '"options":{"temporary":false,"duration":60}',
    ...['', 'a\\r\\nb', 'a\\u0000b', '\\u001b[2J', 'r'.repeat(501)].map((reason) => `"options":{"reason":"${reason}"}`),
    ...['durration', 'expiresAt', 'constructor'].map((name) => `"options":{"${name}":true}`),
  ]),
  ...malformed(
    'bytes that are no UTF-8',
    (hex) =>
      bytes(
        Buffer.from(
          `{"action":"reset","options":{"reason":"${Buffer.from(hex, 'hex').toString('latin1')}"}}`,
          'latin1',
        ),
      ),
    ['ff', 'c0af', 'eda080', 'f4908080', 'c3', '80', '1f8b08'],
  ),
  ...refused(413, 'RDCP_REQUEST_TOO_LARGE')(
    'a body without end, in chunks',
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
  ),
  ...malformed(
    'two kinds of length',
    head((text, coding) => `${text}\r\nTransfer-Encoding: ${coding}`),
    ['chunked', 'Chunked', ' chunked', 'chunked\t', 'identity', 'gzip, chunked'],
  ),
  ...malformed(
    'two lengths',
    head((text, length) => `${text}\r\nContent-Length: ${length}`),
    ['0', '5', '99'],
  ),
  ...malformed(
    'a length that is none',
    head((text, length) => text.replace(LENGTH, `Content-Length: ${length}`)),
    ['-1', '+5', '0x10', '1e3', '5,5', '5 5', '1.0', '99999999999999999999999', 'x', ';'],
  ),
  ...malformed(
    'a transfer coding that is not known',
    head((text, coding) => text.replace(LENGTH, `Transfer-Encoding: ${coding}`)),
    ['gzip', 'identity', 'xchunked', 'chunked, gzip', 'chunked;q=1', 'chunkedchunked'],
  ),
  ...malformed(
    'a chunk without a size',
    head((text, size) => `${text.replace(LENGTH, 'Transfer-Encoding: chunked')}\r\n\r\n${size}\r\n{"a":\r\n0`),
    ['zz', '-1', '0x5', ' 5', '5 ;', 'fffffffffffffffff', '5\n'],
  ),
  ...malformed(
    'a header that is none',
    head((text, line) => `${text}\r\n${line}`),
    [
      ...['X-A : b', ': b', 'X A: b', 'no colon', 'X-A: b\u0000c', 'X-A: b\rc', 'X-A\u0001: b', '@: b', '(x): y'],
      ...['\u0001', '\u0002', '\u0008'].map((character) => `X-A: ${character}`),
    ],
  ),
  ...malformed(
    'a version that is none',
    head((text, version) => text.replace('HTTP/1.1', version)),
    ['HTTP/9.9', 'HTTP/1.2', 'HTTP/1', 'HTTP/11', 'http/1.1', 'HTTP/1.1x', 'HTTQ/1.1', '1.1', ''],
  ),
  ...malformed('no HTTP at all', instead, [
    '\u0016\u0003\u0001\u0002\u0000\u0001',
    '{"action":"enable"}',
    'enable HTTP',
    '\u00ff\u00fe',
    'SSH-2.0-x',
    '\u0000',
  ]),
  ...forbidden(
    'another request behind it',
    (origin) => ({ ...header('Origin')(origin), damage: (whole) => Buffer.concat([whole, Buffer.from(SMUGGLED)]) }),
    ['https://evil.test'],
  ),
];
