import { isObject } from '../src/expectation.ts';
import { type Breakage, breaks } from './breakage.ts';
import {
  answering,
  asking,
  changing,
  controlling,
  headed,
  put,
  refusingNothing,
  rewriting,
  status,
} from './fault-kinds.ts';
import { jsonReply } from './handler.ts';
import { token } from './reference-credentials.ts';
import { asMain, lacksKey } from './request-matchers.ts';

const action = (from: string, instead: string) =>
  controlling((body) => (body.action === from ? { ...body, action: instead } : body));

/** Faults of a server that declares level standard. */
export const standardFaults: readonly Breakage[] = [
  breaks('L2-CAPA-01 L2-CAPA-02 L2-CAPA-03', put('wellKnown', 'capabilities{}', false)),
  breaks('L2-CAPA-04', put('wellKnown', 'security.keyRotation', false)),
  breaks('L2-CAPA-05', put('wellKnown', 'security.level', 'basic')),
  breaks('L2-CAPA-06', put('wellKnown', 'security.required', false)),
  breaks(
    'L2-TOKN-01',
    answering(({ headers }) => headers.authorization !== undefined, jsonReply(401, {})),
  ),
  breaks('L2-TOKN-02 L2-TOKN-03 L2-TOKN-04 L2-TOKN-06 L2-TOKN-07', asking(lacksKey, asMain)),
  breaks('L2-TOKN-05', put('refusal', 'error.details.reason', 'invalid_key')),
  breaks('L2-TCTX-01', put('any', 'tenant.id', 'the first tenant')),
  breaks('L2-TCTX-02', put('any', 'tenant.isolationLevel', 'full')),
  breaks('L2-TCTX-03 L2-TCTX-04', put('any', 'tenant.scope', 'mine')),
  breaks('L2-TCTX-05', put('any', 'tenant.scope', 'tenant-isolated'), { server: { isolation: 'global' } }),
  breaks(
    'L2-TENA-01 L2-TENA-02',
    answering(
      ({ headers }) => headers['x-rdcp-tenant-id'] !== undefined || headers['x-rdcp-isolation-level'] !== undefined,
      jsonReply(400, {}),
    ),
  ),
  breaks(
    'L2-TENA-03',
    answering(({ headers }) => headers['x-rdcp-tenant-name'] !== undefined, jsonReply(400, {})),
  ),
  breaks(
    'L2-TENA-04 L2-TENA-05 L2-TENA-06 L2-TENA-08',
    asking(
      ({ headers }) => headers['x-rdcp-tenant-id'] !== undefined,
      ({ headers }) => ({
        headers: {
          ...headers,
          authorization: `Bearer ${token({ sub: 'intruder', tenant: 'tenant-b' })}`,
          'x-rdcp-tenant-id': undefined,
        },
      }),
    ),
  ),
  breaks(
    'L2-TENA-07',
    changing('refusal', (reply, { headers }) =>
      headers['x-rdcp-tenant-id'] === 'no-such-tenant-here' ? jsonReply(404, {}) : reply,
    ),
  ),
  breaks(
    'L2-TENA-09',
    changing('any', (reply, { headers }) =>
      headers['x-rdcp-isolation-level'] === 'global' ? jsonReply(200, { tenant: { isolationLevel: 'global' } }) : reply,
    ),
  ),
  breaks('L2-ISOL-01', action('enable', 'status')),
  breaks(
    'L2-ISOL-02',
    asking(
      ({ headers }) => headers.authorization !== undefined,
      () => ({ headers: { authorization: `Bearer ${token({ tenant: 'everybody' })}` } }),
    ),
  ),
  breaks('L2-ISOL-03', put('any', 'tenant.isolationLevel', 'global')),
  breaks('L2-ISOL-04', put('discovery', 'ref_tenants', ['tenant-a', 'tenant-b'])),
  breaks('L2-METR-01', status('metrics', 404)),
  breaks(
    'L2-METR-02',
    rewriting('metrics', () => ({ protocol: 'rdcp/1.0' })),
  ),
  breaks('L2-AUDT-01', put('audit', 'log[].user', undefined)),
];

/** Faults of a server that declares level enterprise. */
export const enterpriseFaults: readonly Breakage[] = [
  breaks('L3-METR-01', put('metrics', 'calls.measured', false)),
  breaks('L3-AUDT-01', put('audit', 'log[].retention', undefined)),
  breaks(
    'L3-AUDT-02',
    rewriting('audit', (body) =>
      isObject(body) && Array.isArray(body.log) ? { ...body, log: body.log.slice(0, 2) } : body,
    ),
  ),
  breaks('L3-CAPA-01', put('wellKnown', 'security.level', 'standard')),
  breaks('L3-CAPA-02', put('wellKnown', 'capabilities.temporaryControls', false)),
  breaks('L3-CAPA-03', put('wellKnown', 'security.tokenRefresh', false)),
  breaks('L3-CAPA-05', put('wellKnown', 'security.methods', ['mtls'])),
  breaks('L3-MTLS-01', status('discovery', 401)),
  breaks(
    'L3-MTLS-02 L3-MTLS-03',
    changing('refusal', () => jsonReply(200, {})),
  ),
  breaks('L3-MTLS-04', refusingNothing),
  breaks('L3-MTLS-05', status('refusal', 500)),
  breaks('L3-LIMI-01', headed('control', 'RateLimit-Remaining', undefined)),
  breaks('L1-TRAN-05', headed('discovery', 'Strict-Transport-Security', 'max-age=0')),
];
