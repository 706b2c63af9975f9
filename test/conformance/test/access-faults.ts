import { PATHS } from '../src/session.ts';
import { type Breakage, breaks } from './breakage.ts';
import { answering, asking, changing, headed, put, refusingNothing, status } from './fault-kinds.ts';
import { jsonReply } from './handler.ts';
import { KEYS } from './reference-credentials.ts';
import { always, asMain, lacksKey, to } from './request-matchers.ts';

/** Faults of authentication, refusals, headers and transport. */
export const accessFaults: readonly Breakage[] = [
  breaks(
    'L1-AUTH-03 L1-AUTH-04 L1-AUTH-05 L1-AUTH-12 L1-AUTH-13 L1-AUTH-14 L1-AUTH-15 L1-AUTH-16 L1-AUTH-17',
    asking((request) => lacksKey(request) || request.headers['x-rdcp-api-key'] === '', asMain),
  ),
  breaks('L1-AUTH-06 L1-AUTH-07', asking(always, asMain)),
  breaks(
    'L1-AUTH-08',
    changing('refusal', (reply, { headers }) =>
      headers['x-rdcp-api-key']?.startsWith('rdcp-reference') === true
        ? jsonReply(401, { error: { code: 'RDCP_AUTH_FAILED', message: 'almost' } })
        : reply,
    ),
  ),
  breaks('L1-AUTH-09', put('refusal', 'error.method', 'password')),
  breaks('L1-AUTH-10', put('refusal', 'error.details', { reason: 'no' })),
  breaks(
    'L1-AUTH-11',
    changing('refusal', (_reply, { headers }) =>
      jsonReply(401, { error: { code: 'RDCP_AUTH_FAILED', message: `${headers['x-rdcp-api-key']} is wrong` } }),
    ),
  ),
  breaks(
    'L1-AUTH-19',
    answering(({ headers }) => headers['x-rdcp-api-key'] === KEYS.readonly, jsonReply(401, {})),
  ),
  breaks('L1-AUTH-20', asking(always, asMain), { key: 'dev-key' }),
  breaks('L1-AUTH-21', asking(always, asMain), { key: '0a1b2c3d4e5f60718293a4b5c6d7e8f9' }),
  breaks(
    'L1-SCOP-01 L1-SCOP-02 L1-SCOP-03 L1-SCOP-08',
    asking(({ headers }) => headers['x-rdcp-api-key'] === KEYS.readonly, asMain),
  ),
  breaks(
    'L1-SCOP-03',
    asking(({ url }) => url.includes('scope=admin'), asMain),
  ),
  breaks('L1-SCOP-04', put('refusal', 'error.details.requiredScopes', ['admin'])),
  breaks('L1-SCOP-05', put('refusal', 'error.details.providedScopes', ['control'])),
  breaks('L1-SCOP-06', put('refusal', 'error.details.reason', 'no')),
  breaks(
    'L1-SCOP-07',
    answering(
      (request) => request.headers['x-rdcp-api-key'] === KEYS.readonly && to(PATHS.status)(request),
      jsonReply(403, {}),
    ),
  ),
  breaks('L1-ERRO-01', put('refusal', 'error', 'no')),
  breaks('L1-ERRO-02 L1-ERRO-07', put('refusal', 'error.code', 'not found')),
  breaks('L1-ERRO-03', put('refusal', 'error.message', '')),
  breaks('L1-ERRO-04', put('refusal', 'error.details', 'none')),
  breaks('L1-ERRO-05', put('refusal', 'error.protocol', undefined)),
  breaks('L1-ERRO-06', status('refusal', 418)),
  breaks('L1-ERRO-07', put('refusal', 'error.code', 'E_BAD')),
  breaks('L1-ERRO-08', put('refusal', 'error.message', 'TypeError\n    at handle (/srv/app/server.js:10:5)')),
  breaks('L1-ERRO-09', headed('refusal', 'Content-Type', 'text/html')),
  breaks('L1-ERRO-10', put('refusal', 'error.code', 'RDCP_MALFORMED_REQUEST')),
  breaks('L1-ERRO-11', refusingNothing),
  breaks('L1-ERRO-12 L1-ERRO-13', status('refusal', 500)),
  breaks('L1-ERRO-14', put('refusal', 'error.stack', 'none')),
  breaks('L1-HEAD-01 L1-ENDP-01 L1-VERS-01', status('status', 500)),
  breaks(
    'L1-HEAD-02',
    answering(({ headers }) => (headers['x-rdcp-client-id'] ?? '').length > 64, jsonReply(400, {})),
  ),
  breaks(
    'L1-HEAD-03',
    answering(({ headers }) => /\s/.test(headers['x-rdcp-request-id'] ?? ''), jsonReply(500, {})),
  ),
  breaks('L1-HEAD-04', headed('status', 'X-RDCP-Request-ID', 'mine')),
  breaks(
    'L1-ENDP-02',
    answering(({ url }) => url.includes('?'), jsonReply(500, {})),
  ),
  breaks(
    'L1-ENDP-03',
    answering(({ method, body }) => method === 'GET' && body.length > 0, jsonReply(500, {})),
  ),
  breaks('L1-ENDP-04 L1-VERS-02 L1-VERS-03', refusingNothing),
  breaks('L1-TRAN-02', headed('any', 'Content-Type', 'text/plain')),
  breaks('L1-TRAN-03', headed('any', 'Content-Type', 'application/json; charset=iso-8859-1')),
  breaks(
    'L1-TRAN-03',
    changing('status', (reply) => ({ ...reply, body: Buffer.from('{"name":"\u00e9"}', 'latin1') })),
  ),
];
