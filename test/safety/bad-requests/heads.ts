import { HEADERS, PATHS } from '../../../src/wire/constants.ts';
import type { ErrorCode } from '../../../src/wire/errors.ts';
import fc from '../../support/fast-check.ts';
import { KEYS } from '../../support/server.ts';
import { faults, type Header, MALFORMED, withHeader } from './draft.ts';
import { CANARY, fieldValue, madeUp, unlike } from './text.ts';

// What is wrong with a request before its body.

const IDENTIFIER = /^[a-zA-Z0-9._-]{1,255}$/;
const REFUSED: readonly ErrorCode[] = ['RDCP_AUTH_FAILED', 'RDCP_AUTH_REQUIRED', MALFORMED];
const NOT_FOUND: readonly ErrorCode[] = [
  'RDCP_NOT_FOUND',
  'RDCP_VERSION_UNSUPPORTED',
  'RDCP_METHOD_NOT_ALLOWED',
  MALFORMED,
];

const path = fc.webPath({ size: 'small' });
const target = fc
  .oneof(
    path,
    path.map((rest) => `/rdcp${rest}`),
    path.map((rest) => `/rdcp/v1${rest}`),
    fieldValue.map((rest) => `${PATHS.control}/${rest.replaceAll(/[\s?#]/g, '')}`),
    fc.nat(99).map((version) => `/rdcp/v${version === 1 ? '01' : version}/control`),
    fc.constantFrom(`http://localhost${PATHS.control}/`, `${PATHS.control}%00`, `/${PATHS.control}`, '*', '/..'),
  )
  .filter((value) => value !== '' && value.split(/[?#]/)[0] !== PATHS.control);

const method = fc
  .oneof(
    fc.constantFrom('GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'SEARCH', 'QUERY', 'LINK'),
    fc.stringMatching(/^[A-Z]{1,12}$/),
    fc.stringMatching(/^[a-z]{1,12}$/),
  )
  // HEAD is answered without a body, so not in the envelope; CONNECT and PRI are not for this kind of target.
  .filter((value) => !['POST', 'HEAD', 'CONNECT', 'PRI'].includes(value));

const date = fc.oneof(
  fieldValue,
  fc.date({ noInvalidDate: true, max: new Date('2020-01-01') }).map((value) => value.toUTCString()),
);

const credentials = [
  faults('no credential', ['RDCP_AUTH_REQUIRED'], fc.constant(undefined), (draft) => withHeader(draft, HEADERS.apiKey)),
  faults('wrong key', REFUSED, madeUp, (draft, key) => withHeader(draft, HEADERS.apiKey, key)),
  faults('wrong token', REFUSED, madeUp, (draft, token) =>
    withHeader(withHeader(draft, HEADERS.apiKey), 'Authorization', `Bearer ${token}`),
  ),
  faults(
    'another scheme',
    REFUSED,
    fc.tuple(fc.constantFrom('Basic', 'Digest', 'Negotiate', 'Bearer,', CANARY), madeUp),
    (draft, [scheme, value]) => withHeader(withHeader(draft, HEADERS.apiKey), 'Authorization', `${scheme} ${value}`),
  ),
  faults('two credentials', REFUSED, madeUp, (draft, token) => withHeader(draft, 'Authorization', `Bearer ${token}`)),
  faults(
    'a key in the query',
    ['RDCP_AUTH_REQUIRED'],
    fc.constantFrom('key', 'api_key', 'access_token', HEADERS.apiKey),
    (draft, name) => withHeader({ ...draft, target: `${draft.target}?${name}=${KEYS.admin}` }, HEADERS.apiKey),
  ),
  faults('missing scope', ['RDCP_FORBIDDEN'], fc.constantFrom(KEYS.discovery, KEYS.status), (draft, key) =>
    withHeader(draft, HEADERS.apiKey, key),
  ),
  faults('auth method', REFUSED, unlike(/^api-key$/), (draft, value) => withHeader(draft, HEADERS.authMethod, value)),
];

const fields = [
  faults('request id', [MALFORMED], unlike(IDENTIFIER), (draft, value) => withHeader(draft, HEADERS.requestId, value)),
  faults('client id', [MALFORMED], unlike(IDENTIFIER), (draft, value) => withHeader(draft, HEADERS.clientId, value)),
  faults('tenant', [MALFORMED], fieldValue, (draft, value) => withHeader(draft, HEADERS.tenantId, value)),
  faults('isolation level', [MALFORMED], fieldValue, (draft, value) =>
    withHeader(draft, HEADERS.isolationLevel, value),
  ),
  faults('Date', [MALFORMED], date, (draft, value) => withHeader(draft, 'Date', value)),
  faults('version', ['RDCP_VERSION_UNSUPPORTED', MALFORMED], unlike(/^rdcp\/1\.0$/), (draft, value) =>
    withHeader(draft, HEADERS.protocol, value),
  ),
  faults(
    'Accept',
    ['RDCP_MEDIA_NOT_ACCEPTABLE', 'RDCP_VERSION_UNSUPPORTED'],
    unlike(/^$|\*\/\*|json|application\/\*/i),
    (draft, value) => withHeader(draft, 'Accept', value),
  ),
  faults('Content-Type', ['RDCP_MEDIA_UNSUPPORTED', MALFORMED], unlike(/json/i), (draft, value) =>
    withHeader(draft, 'Content-Type', value),
  ),
  faults('charset', ['RDCP_MEDIA_UNSUPPORTED'], fc.constantFrom('utf-16', 'latin1', 'utf-7', 'x'), (draft, value) =>
    withHeader(draft, 'Content-Type', `application/json; charset=${value}`),
  ),
  faults('Content-Encoding', ['RDCP_MEDIA_UNSUPPORTED'], unlike(/^identity$/i), (draft, value) =>
    withHeader(draft, 'Content-Encoding', value),
  ),
  faults('Host', [MALFORMED, 'RDCP_FORBIDDEN'], unlike(/^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i), (draft, value) =>
    withHeader(draft, 'Host', value),
  ),
  faults('no Host', [MALFORMED], fc.constant(undefined), (draft) => withHeader(draft, 'Host')),
  faults('Origin', ['RDCP_FORBIDDEN', MALFORMED], fc.oneof(fieldValue, fc.webUrl()), (draft, value) =>
    withHeader(draft, 'Origin', value),
  ),
  faults(
    'doubled header',
    [MALFORMED],
    fc.constantFrom(...Object.values(HEADERS), 'Host', 'Content-Type', 'Date'),
    (draft, name) => withHeader(draft, name, 'localhost', 'localhost'),
  ),
  faults('too many headers', [MALFORMED], fc.integer({ min: 100, max: 150 }), (draft, count) => ({
    ...draft,
    headers: [...draft.headers, ...Array.from({ length: count }, (_, index): Header => [`X-${index}`, '1'])],
  })),
  faults(
    'a head that is too long',
    ['RDCP_REQUEST_TOO_LARGE'],
    fc.integer({ min: 17_000, max: 40_000 }),
    (draft, length) => withHeader(draft, 'X-Long', 'x'.repeat(length)),
  ),
];

export const HEAD_FAULTS = [
  faults('path', NOT_FOUND, target, (draft, value) => ({ ...draft, target: value })),
  faults('method', ['RDCP_METHOD_NOT_ALLOWED', MALFORMED], method, (draft, value) => ({ ...draft, method: value })),
  ...credentials,
  ...fields,
];
