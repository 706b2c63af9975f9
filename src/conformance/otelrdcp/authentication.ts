import { errorOf, expectAt, expectOk, expectRefusal, valueAt } from '../body.ts';
import { section } from '../check.ts';
import { expect, isObject, show, skip } from '../expectation.ts';
import { header } from '../http.ts';
import { needRefusals } from '../rdcp/authentication.ts';
import { SCOPES } from '../rdcp/well-known.ts';
import { apiKey, bearer, type Credential, evidence, PATHS, type Session } from '../session.ts';
import { need, subject, wellKnown } from '../subject.ts';
import { BOOLEAN, oneOf, PATH, TEXT } from '../value-types.ts';

export const SESSION_PATH = '/rdcp/v1/session';

/** The scopes of which one is enough for an endpoint. */
const SCOPES_OF: Readonly<Record<string, readonly string[]>> = {
  [PATHS.discovery]: ['discovery'],
  [PATHS.status]: ['status', 'discovery'],
  [PATHS.health]: ['status', 'discovery'],
  [PATHS.metrics]: ['discovery'],
  [PATHS.tenants]: [],
  [PATHS.audit]: [],
};

async function needMain(session: Session): Promise<Credential> {
  await needRefusals(session);
  return need(session.credentials.main, '--key or --token');
}

const wrong = evidence(async (session) => {
  await needMain(session);
  return session.get(PATHS.status, { as: apiKey('wrong key', 'x'.repeat(56), false) });
});

const anonymous = evidence(async (session) => {
  await needMain(session);
  return session.get(PATHS.status, { as: 'nobody' });
});

async function methods(session: Session): Promise<readonly unknown[]> {
  const listed = valueAt((await wellKnown(session)).body, 'security.methods');
  return Array.isArray(listed) ? listed : [];
}

export const authenticationDecisions = section(
  1,
  'Authentication',
  [
    [
      'W-AUTH-01',
      'MUST',
      'A request without a credential is refused with RDCP_AUTH_REQUIRED',
      async (s) => void expectRefusal(await anonymous(s), [401], ['RDCP_AUTH_REQUIRED']),
    ],
    [
      'W-AUTH-02',
      'MUST',
      'Every 401 carries WWW-Authenticate',
      async (s) => {
        for (const answer of [await anonymous(s), await wrong(s)]) {
          const challenge = header(answer, 'www-authenticate');
          expect(TEXT.test(challenge), 'WWW-Authenticate', show(challenge));
        }
      },
    ],
    [
      'W-AUTH-03',
      'MUST',
      'A wrong key is refused with RDCP_AUTH_FAILED, method api-key and the reason invalid_key',
      async (s) => {
        const error = expectRefusal(await wrong(s), [401], ['RDCP_AUTH_FAILED']);
        expectAt(error, 'method', oneOf('api-key'));
        expectAt(error, 'details.reason', oneOf('invalid_key'));
      },
    ],
    [
      'W-AUTH-04',
      'MUST',
      'A wrong token is refused with RDCP_AUTH_FAILED, method bearer and the reason invalid_token',
      async (s) => {
        await needMain(s);
        if (!(await methods(s)).includes('bearer')) skip('the server takes no tokens');
        const answer = await s.get(PATHS.status, { as: bearer('wrong token', 'a.b.c', false) });
        const error = expectRefusal(answer, [401], ['RDCP_AUTH_FAILED']);
        expectAt(error, 'method', oneOf('bearer'));
        expectAt(error, 'details.reason', oneOf('invalid_token'));
      },
    ],
    [
      'W-AUTH-05',
      'MUST',
      'X-RDCP-Auth-Method may be absent',
      async (s) => {
        const as = await needMain(s);
        expectOk(await s.get(PATHS.status, { as, headers: { 'X-RDCP-Auth-Method': undefined } }));
      },
    ],
    [
      'W-AUTH-06',
      'MUST',
      'X-RDCP-Auth-Method that does not agree with the credential is refused with 401 and the reason method_mismatch',
      async (s) => {
        const as = await needMain(s);
        const other = as.method === 'bearer' ? 'api-key' : 'bearer';
        const error = expectRefusal(
          await s.get(PATHS.status, { as, headers: { 'X-RDCP-Auth-Method': other } }),
          [401],
          ['RDCP_AUTH_FAILED'],
        );
        expectAt(error, 'details.reason', oneOf('method_mismatch'));
      },
    ],
    [
      'W-AUTH-07',
      'MUST',
      'A credential sent twice is refused with 400',
      async (s) => {
        const as = await needMain(s);
        const name = as.method === 'api-key' ? 'X-RDCP-API-Key' : 'Authorization';
        const value = as.method === 'api-key' ? as.secret : `Bearer ${as.secret}`;
        const answer = await s.get(PATHS.status, { as, headers: { [name]: [value ?? '', value ?? ''] } });
        expectRefusal(answer, [400], ['RDCP_MALFORMED_REQUEST']);
      },
    ],
    [
      'W-AUTH-08',
      'MUST',
      'Two credentials that are no hybrid pair are refused with 400',
      async (s) => {
        const as = await needMain(s);
        const headers =
          as.method === 'api-key' ? { Authorization: 'Bearer a.b.c' } : { 'X-RDCP-API-Key': 'x'.repeat(56) };
        expectRefusal(await s.get(PATHS.status, { as, headers }), [400], ['RDCP_MALFORMED_REQUEST']);
      },
    ],
    [
      'W-AUTH-09',
      'MUST',
      'Health without a credential answers protocol, timestamp, status and no checks',
      async (s) => {
        await needMain(s);
        const { body } = await s.get(PATHS.health, { as: 'nobody' });
        const fields = isObject(body) ? Object.keys(body).sort().join() : show(body);
        expect(fields === 'checks,protocol,status,timestamp', 'checks, protocol, status, timestamp', fields);
        const checks = show(valueAt(body, 'checks'));
        expect(checks === '[]', 'checks []', checks);
      },
    ],
    [
      'W-AUTH-10',
      'MUST',
      'A missing scope is refused with 403 RDCP_FORBIDDEN, the method, the reason and both lists of scopes',
      async (s) => {
        const as = need(s.credentials.readonly, '--readonly-key or --readonly-token');
        const { name } = await subject(s);
        const answer = await s.control({ action: 'status', categories: [name] }, { as });
        const error = expectRefusal(answer, [403], ['RDCP_FORBIDDEN']);
        expectAt(error, 'method', oneOf(as.method));
        expectAt(error, 'details.reason', oneOf('insufficient_scopes'));
        expectAt(error, 'details.requiredScopes[]', oneOf('control'));
        expectAt(error, 'details.providedScopes[]', oneOf('discovery', 'status'));
      },
    ],
    [
      'W-AUTH-11',
      'MUST',
      'What a limited credential may read is what its scopes say, endpoint by endpoint',
      async (s) => {
        const as = need(s.credentials.readonly, '--readonly-key or --readonly-token');
        const held = valueAt(expectOk(await s.get(SESSION_PATH, { as })), 'scopes');
        expect(Array.isArray(held), 'scopes in the session', show(held));
        for (const [path, enough] of Object.entries(SCOPES_OF)) {
          const answer = await s.get(path, { as });
          if (answer.status === 404) continue;
          const allowed = held.includes('admin') || enough.some((scope) => held.includes(scope));
          const wanted = allowed ? 200 : 403;
          expect(answer.status === wanted, `${path} to answer ${wanted} to ${show(held)}`, String(answer.status));
        }
      },
    ],
    [
      'W-AUTH-12',
      'MUST',
      'The session endpoint answers the auth context of the credential',
      async (s) => {
        const as = await needMain(s);
        const body = expectOk(await s.get(SESSION_PATH, { as }));
        expectAt(body, 'authenticated', oneOf(true));
        expectAt(body, 'method', oneOf(as.method));
        expectAt(body, 'userId', TEXT);
        expectAt(body, 'scopes[]', oneOf(...SCOPES));
      },
    ],
    [
      'W-AUTH-13',
      'MUST',
      'The well-known document names the endpoints beyond the required ones',
      async (s) => {
        const { body } = await wellKnown(s);
        expectAt(body, 'otelrdcp_endpoints.session', oneOf(SESSION_PATH));
        expectAt(body, 'otelrdcp_endpoints{}', PATH);
        expectAt(body, 'security.required', BOOLEAN);
      },
    ],
    [
      'W-AUTH-14',
      'MUST',
      'A wrong credential is told nothing about the server: the answer is the same on every endpoint',
      async (s) => {
        const first = errorOf(await wrong(s));
        for (const path of [PATHS.discovery, PATHS.health, PATHS.audit, SESSION_PATH]) {
          const answer = await s.get(path, { as: apiKey('wrong key', 'x'.repeat(56), false) });
          expect(show(errorOf(answer)) === show(first), show(first), `${path}: ${show(errorOf(answer))}`);
        }
      },
    ],
  ],
  { profile: 'otelrdcp' },
);
