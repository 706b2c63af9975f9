import { expectAt, expectOk, valueAt } from '../body.ts';
import { section } from '../check.ts';
import { expect, show, skip } from '../expectation.ts';
import { type Answer, exchange, type Target } from '../http.ts';
import { rateLimit } from '../pacing.ts';
import { apiKey, type Credential, credentialHeaders, evidence, PATHS, type Session } from '../session.ts';
import { discovery, need, wellKnown } from '../subject.ts';
import { switching } from '../switching.ts';
import { oneOf } from '../value-types.ts';

/** A request on a connection without the client certificate. `undefined`: the connection was refused. */
async function withoutCertificate(session: Session, as: Credential | undefined): Promise<Answer | undefined> {
  const { url, ca } = session.target;
  if (url.protocol !== 'https:') skip('the server is spoken to without TLS');
  const target: Target = { url, ...(ca === undefined ? {} : { ca }) };
  const headers = as === undefined ? [] : credentialHeaders(as);
  try {
    return await exchange(target, { method: 'GET', path: PATHS.status, headers });
  } catch {
    return undefined;
  }
}

function expectShutOut(answer: Answer | undefined): void {
  const shutOut = answer === undefined || answer.status === 401 || answer.status === 403;
  expect(shutOut, 'no connection, 401 or 403', String(answer?.status));
}

const withCertificateAlone = evidence((session) => session.get(PATHS.status, { as: 'nobody' }));

export const enterpriseChecks = [
  ...section(3, 'Compliance level 3', [
    [
      'L3-CAPA-01',
      'MUST',
      'The declared security level is enterprise',
      async (s) => expectAt((await wellKnown(s)).body, 'security.level', oneOf('enterprise')),
    ],
    [
      'L3-CAPA-02',
      'MUST',
      'Temporary controls are advertised',
      async (s) => expectAt((await wellKnown(s)).body, 'capabilities.temporaryControls', oneOf(true)),
    ],
    [
      'L3-CAPA-03',
      'MUST',
      'Token refresh is advertised',
      async (s) => expectAt((await wellKnown(s)).body, 'security.tokenRefresh', oneOf(true)),
    ],
    [
      'L3-CAPA-04',
      'MUST',
      'The server is spoken to over TLS',
      async ({ target }) => expect(target.url.protocol === 'https:', 'an https URL', target.url.protocol),
    ],
    [
      'L3-CAPA-05',
      'MUST',
      'mtls and bearer are offered',
      async (s) => {
        const methods = valueAt((await wellKnown(s)).body, 'security.methods');
        const both = Array.isArray(methods) && methods.includes('mtls') && methods.includes('bearer');
        expect(both, 'methods with mtls and bearer', show(methods));
      },
    ],
  ]),
  ...section(3, 'Authentication: client certificates', [
    [
      'L3-MTLS-01',
      'MUST',
      'With certificate and token the server is read',
      async (s) => {
        if (s.target.cert === undefined) skip('no client certificate was given (--cert, --key-pem)');
        expectOk(await discovery(s));
      },
    ],
    [
      'L3-MTLS-02',
      'MUST',
      'A token without a certificate is not enough',
      async (s) => expectShutOut(await withoutCertificate(s, need(s.credentials.token, '--token'))),
    ],
    [
      'L3-MTLS-03',
      'MUST',
      'Without a certificate and a token there is no access',
      async (s) => expectShutOut(await withoutCertificate(s, undefined)),
    ],
    [
      'L3-MTLS-04',
      'MUST',
      'A certificate with a wrong API key is not let in by the certificate',
      async (s) => {
        if (s.target.cert === undefined) skip('no client certificate was given (--cert, --key-pem)');
        const answer = await s.get(PATHS.status, { as: apiKey('wrong key', 'x'.repeat(48), false) });
        expect(answer.status >= 400 && answer.status < 500, 'a 4xx', String(answer.status));
      },
    ],
    [
      'L3-MTLS-05',
      'MUST',
      'A certificate alone is an identity, or is refused with 401',
      async (s) => {
        if (s.target.cert === undefined) skip('no client certificate was given (--cert, --key-pem)');
        const { status } = await withCertificateAlone(s);
        expect(status === 200 || status === 401 || status === 403, '200, 401 or 403', String(status));
      },
    ],
  ]),
  ...section(3, 'Limits', [
    [
      'L3-LIMI-01',
      'SHOULD',
      'The rate limit of control is told, so that a client can keep to it',
      async (s) => {
        const told = rateLimit((await switching(s)).enable.answer);
        expect(told !== undefined, 'RateLimit, or RateLimit-Remaining', 'neither');
      },
    ],
  ]),
];
