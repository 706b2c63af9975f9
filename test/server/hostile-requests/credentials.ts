import { HEADERS, PATHS } from '../../../src/wire/constants.ts';
import { requestText } from '../../support/raw-http.ts';
import { KEYS } from '../../support/server.ts';
import { cases, control, ENABLE, HOST, type HostileRequest, JSON_TYPE, MALFORMED, post } from './request.ts';

export const credentials: HostileRequest[] = [
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
