import { HEADERS, PATHS } from '../../../src/wire/constants.ts';
import { requestText } from '../../support/raw-http.ts';
import {
  cases,
  control,
  ENABLE,
  get,
  type Header,
  HOST,
  type HostileRequest,
  KEY,
  MALFORMED,
  post,
} from './request.ts';

export const headers: HostileRequest[] = [
  ...cases(
    'doubled on a read',
    400,
    MALFORMED,
    [...Object.values(HEADERS), 'Host', 'Origin', 'Date', 'Content-Type'],
    (name) => requestText('GET', PATHS.status, [HOST, KEY, [name, 'localhost'], [name.toLowerCase(), 'localhost']]),
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

export const versions: HostileRequest[] = [
  ...cases('version', 400, 'RDCP_VERSION_UNSUPPORTED', ['rdcp/2.0', 'rdcp/1', 'RDCP/1.0', '', 'http/1.1'], (value) =>
    control(ENABLE, [HEADERS.protocol, value]),
  ),
  ...cases('version in the path', 400, 'RDCP_VERSION_UNSUPPORTED', ['/rdcp/v2/status', '/rdcp/v10/control'], (path) =>
    get(path),
  ),
  ...cases(
    'Accept',
    406,
    'RDCP_MEDIA_NOT_ACCEPTABLE',
    ['application/xml', 'image/*', '\\', `text/plain,${'a/b,'.repeat(2000)}`],
    (value) => get(PATHS.status, ['Accept', value]),
  ),
];

export const media: HostileRequest[] = [
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
