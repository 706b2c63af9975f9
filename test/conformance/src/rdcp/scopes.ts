import { describe, errorOf, expectOk, expectRefusal, valueAt } from '../body.ts';
import { section } from '../check.ts';
import { expect, show, skip } from '../expectation.ts';
import { evidence, PATHS } from '../session.ts';
import { need, opposite, readCategory, subject } from '../subject.ts';

const FORBIDDEN_CODES = ['RDCP_FORBIDDEN', 'RDCP_AUTH_FAILED'];

/** A control request by a credential that may only read, and one that claims more than it holds. */
const withoutControl = evidence(async (session) => {
  const as = need(session.credentials.readonly, '--readonly-key or --readonly-token');
  const { name } = await subject(session);
  const before = await readCategory(session, name);
  const request = { action: opposite(before), categories: [name] };
  const plain = await session.control(request, { as });
  const claiming = await session.send('POST', `${PATHS.control}?scope=admin`, {
    as,
    json: request,
    headers: {
      'X-RDCP-Scopes': 'admin control',
      'X-RDCP-Scope': 'control',
      'X-HTTP-Method-Override': 'GET',
      'X-RDCP-Client-ID': 'admin',
    },
  });
  return { before, after: await readCategory(session, name), plain, claiming };
});

export const scopeChecks = section(1, 'Authentication: scopes', [
  [
    'L1-SCOP-01',
    'MUST',
    'Control needs the scope control: without it 403',
    async (s) => void expectRefusal((await withoutControl(s)).plain, [403], FORBIDDEN_CODES),
  ],
  [
    'L1-SCOP-02',
    'MUST',
    'A control request that is forbidden changes nothing',
    async (s) => {
      const { before, after } = await withoutControl(s);
      expect(before.enabled === after.enabled, show(before), after);
    },
  ],
  [
    'L1-SCOP-03',
    'MUST',
    'Headers and query parameters do not add a scope',
    async (s) => {
      const { claiming } = await withoutControl(s);
      expect(claiming.status === 403 || claiming.status === 400, '403', describe(claiming));
    },
  ],
  [
    'L1-SCOP-04',
    'SHOULD',
    'The refusal names control among the scopes required',
    async (s) => {
      const details = errorOf((await withoutControl(s)).plain)?.details;
      const required = valueAt(details, 'requiredScopes');
      if (required === undefined) skip('the server does not tell which scope is required');
      expect(Array.isArray(required) && required.includes('control'), 'requiredScopes with control', show(required));
    },
  ],
  [
    'L1-SCOP-05',
    'MUST',
    'providedScopes, where given, is an array of strings that lacks control',
    async (s) => {
      const details = errorOf((await withoutControl(s)).plain)?.details;
      const provided = valueAt(details, 'providedScopes');
      if (provided === undefined) skip('the server does not tell which scopes were provided');
      const right = Array.isArray(provided) && provided.every((one) => typeof one === 'string' && one !== 'control');
      expect(right, 'providedScopes without control', show(provided));
    },
  ],
  [
    'L1-SCOP-06',
    'SHOULD',
    'The reason given for a missing scope is insufficient_scopes',
    async (s) => {
      const reason = valueAt(errorOf((await withoutControl(s)).plain), 'details.reason');
      if (reason === undefined) skip('the server gives no reason');
      expect(reason === 'insufficient_scopes', 'details.reason insufficient_scopes', show(reason));
    },
  ],
  [
    'L1-SCOP-07',
    'MUST',
    'A credential without control still reads status',
    async (s) => {
      const as = need(s.credentials.readonly, '--readonly-key or --readonly-token');
      expectOk(await s.get(PATHS.status, { as }));
    },
  ],
  [
    'L1-SCOP-08',
    'MUST',
    'The audit trail, where there is one, needs the scope admin',
    async (s) => {
      const as = need(s.credentials.readonly, '--readonly-key or --readonly-token');
      const answer = await s.get(PATHS.audit, { as });
      if (answer.status === 404) skip('the server has no audit endpoint');
      expectRefusal(answer, [403], FORBIDDEN_CODES);
    },
  ],
]);
