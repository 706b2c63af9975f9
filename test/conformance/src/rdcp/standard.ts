import { expectAt, expectOk, expectRefusal, valueAt } from '../body.ts';
import { section } from '../check.ts';
import { expect, show, skip } from '../expectation.ts';
import { bearer, PATHS } from '../session.ts';
import { need, opposite, readCategory, subject, wellKnown } from '../subject.ts';
import { oneOf } from '../value-types.ts';
import { nearly, needRefusals, REFUSED_CODES } from './authentication.ts';

export const standardChecks = [
  ...section(2, 'Compliance level 2', [
    [
      'L2-CAPA-01',
      'MUST',
      'Multi-tenancy is advertised',
      async (s) => expectAt((await wellKnown(s)).body, 'capabilities.multiTenancy', oneOf(true)),
    ],
    [
      'L2-CAPA-02',
      'MUST',
      'Performance metrics are advertised',
      async (s) => expectAt((await wellKnown(s)).body, 'capabilities.performanceMetrics', oneOf(true)),
    ],
    [
      'L2-CAPA-03',
      'MUST',
      'An audit trail, which names users, is advertised',
      async (s) => expectAt((await wellKnown(s)).body, 'capabilities.auditTrail', oneOf(true)),
    ],
    [
      'L2-CAPA-04',
      'MUST',
      'Key rotation is advertised',
      async (s) => expectAt((await wellKnown(s)).body, 'security.keyRotation', oneOf(true)),
    ],
    [
      'L2-CAPA-05',
      'MUST',
      'The declared security level is standard or enterprise',
      async (s) => expectAt((await wellKnown(s)).body, 'security.level', oneOf('standard', 'enterprise')),
    ],
    [
      'L2-CAPA-06',
      'MUST',
      'Authentication is required',
      async (s) => expectAt((await wellKnown(s)).body, 'security.required', oneOf(true)),
    ],
  ]),
  ...section(2, 'Authentication: tokens', [
    [
      'L2-TOKN-01',
      'MUST',
      'A bearer token is accepted',
      async (s) => void expectOk(await s.get(PATHS.status, { as: need(s.credentials.token, '--token') })),
    ],
    [
      'L2-TOKN-02',
      'MUST',
      'The signature is checked: a token with another signature is refused with 401',
      async (s) => {
        await needRefusals(s);
        const [header, payload, signature] = tokenParts(need(s.credentials.token, '--token').secret);
        const forged = `${header}.${payload}.${nearly(signature, 4)}`;
        expectRefusal(await s.get(PATHS.status, { as: bearer('forged token', forged, false) }), [401], REFUSED_CODES);
      },
    ],
    [
      'L2-TOKN-03',
      'MUST',
      'The content is signed: a token with another payload is refused with 401',
      async (s) => {
        await needRefusals(s);
        const [header, payload, signature] = tokenParts(need(s.credentials.token, '--token').secret);
        const claims = { ...JSON.parse(Buffer.from(payload, 'base64url').toString()), scope: 'admin' };
        const forged = `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${signature}`;
        expectRefusal(await s.get(PATHS.status, { as: bearer('forged token', forged, false) }), [401], REFUSED_CODES);
      },
    ],
    [
      'L2-TOKN-04',
      'MUST',
      'The expiration is checked: an expired token is refused with 401',
      async (s) => {
        await needRefusals(s);
        const as = need(s.credentials.expired, '--expired-token');
        expectRefusal(await s.get(PATHS.status, { as }), [401], REFUSED_CODES);
      },
    ],
    [
      'L2-TOKN-05',
      'SHOULD',
      'The reason given for an expired token is token_expired',
      async (s) => {
        await needRefusals(s);
        const as = need(s.credentials.expired, '--expired-token');
        const error = expectRefusal(await s.get(PATHS.status, { as }), [401], REFUSED_CODES);
        const reason = valueAt(error, 'details.reason');
        if (reason === undefined) skip('the server gives no reason');
        expect(reason === 'token_expired', 'details.reason token_expired', show(reason));
      },
    ],
    [
      'L2-TOKN-06',
      'MUST',
      'Issuer and audience are checked: a token of another issuer, or for another audience, is refused with 401',
      async (s) => {
        await needRefusals(s);
        const as = need(s.credentials.foreign, '--foreign-token');
        expectRefusal(await s.get(PATHS.status, { as }), [401], REFUSED_CODES);
      },
    ],
    [
      'L2-TOKN-07',
      'MUST',
      'A control request with a forged token changes nothing',
      async (s) => {
        await needRefusals(s);
        const [header, payload] = tokenParts(need(s.credentials.token, '--token').secret);
        const as = bearer('forged token', `${header}.${payload}.AAAA`, false);
        const { name } = await subject(s);
        const before = await readCategory(s, name);
        expectRefusal(await s.control({ action: opposite(before), categories: [name] }, { as }), [401], REFUSED_CODES);
        const after = await readCategory(s, name);
        expect(after.enabled === before.enabled, show(before), after);
      },
    ],
  ]),
];

function tokenParts(token: string | undefined): [header: string, payload: string, signature: string] {
  const [header, payload, signature] = token?.split('.') ?? [];
  if (header === undefined || payload === undefined || signature === undefined) return skip('the token is no JWT');
  return [header, payload, signature];
}
