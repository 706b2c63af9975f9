import { describe, errorOf, expectOk, expectRefusal, valueAt } from '../body.ts';
import { section } from '../check.ts';
import { expect, show, skip } from '../expectation.ts';
import type { Answer } from '../http.ts';
import { apiKey, bearer, type Credential, evidence, PATHS, type Session } from '../session.ts';
import { need, needAuthentication, opposite, readCategory, subject, wellKnown } from '../subject.ts';
import { oneOf } from '../value-types.ts';

export const REFUSED_CODES = ['RDCP_AUTH_REQUIRED', 'RDCP_AUTH_FAILED'];
const METHOD = oneOf('api-key', 'bearer', 'mtls', 'hybrid');
/** `{"alg":"none"}` and a subject, without a signature. */
const UNSIGNED_TOKEN = `${encode({ alg: 'none', typ: 'JWT' })}.${encode({ sub: 'rdcp', scope: 'admin', exp: 4102444800 })}.`;

function encode(part: unknown): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

/** Skips where a client certificate alone may authenticate: a request is then never without a credential. */
export async function needRefusals(session: Session): Promise<void> {
  await needAuthentication(session);
  if (session.target.cert !== undefined) skip('every request of this run carries a client certificate');
}

const anonymous = evidence(async (session) => {
  await needRefusals(session);
  const { name } = await subject(session);
  return {
    discovery: await session.get(PATHS.discovery, { as: 'nobody' }),
    status: await session.get(PATHS.status, { as: 'nobody' }),
    control: await session.control({ action: 'toggle', categories: [name] }, { as: 'nobody' }),
  };
});

/** The last character replaced by another of its kind: right in form and length, wrong in the least way. */
export function nearly(secret: string, at: number): string {
  const index = at < 0 ? secret.length + at : at;
  const other = secret[index] === 'a' ? 'b' : 'a';
  return secret.slice(0, index) + other + secret.slice(index + 1);
}

function mainKey(session: Session): string {
  const { main } = session.credentials;
  if (main?.method !== 'api-key' || main.secret === undefined) return skip('no API key was given (--key)');
  return main.secret;
}

/** Control requests with keys that differ from a good one early, late and altogether. */
export const wrongKeys = evidence(async (session) => {
  await needRefusals(session);
  const key = mainKey(session);
  const { name } = await subject(session);
  const before = await readCategory(session, name);
  const ask = (secret: string) =>
    session.control({ action: opposite(before), categories: [name] }, { as: apiKey('wrong key', secret, false) });
  const answers = {
    late: await ask(nearly(key, -1)),
    early: await ask(nearly(key, 0)),
    other: await ask('x'.repeat(key.length)),
    short: await ask(key.slice(0, -1)),
  };
  return { before, after: await readCategory(session, name), answers };
});

async function expectDenied(session: Session, as: Credential, path: string = PATHS.discovery): Promise<Answer> {
  await needRefusals(session);
  const answer = await session.get(path, { as });
  expectRefusal(answer, [401], REFUSED_CODES);
  return answer;
}

/** An answer's content without the fields that differ between any two answers. */
function gist({ status, body }: Answer): string {
  return JSON.stringify([status, body]).replace(/\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{8}-[0-9a-f-]{27}/g, '*');
}

export const authenticationChecks = section(1, 'Authentication', [
  [
    'L1-AUTH-03',
    'MUST',
    'Discovery without a credential is refused with 401',
    async (s) => void expectRefusal((await anonymous(s)).discovery, [401], REFUSED_CODES),
  ],
  [
    'L1-AUTH-04',
    'MUST',
    'Status without a credential is refused with 401',
    async (s) => void expectRefusal((await anonymous(s)).status, [401], REFUSED_CODES),
  ],
  [
    'L1-AUTH-05',
    'MUST',
    'Control without a credential is refused with 401',
    async (s) => void expectRefusal((await anonymous(s)).control, [401], REFUSED_CODES),
  ],
  [
    'L1-AUTH-06',
    'MUST',
    'A wrong API key is refused with 401, however little of it is wrong',
    async (s) => {
      const { answers } = await wrongKeys(s);
      for (const answer of Object.values(answers)) expectRefusal(answer, [401], REFUSED_CODES);
    },
  ],
  [
    'L1-AUTH-07',
    'MUST',
    'A control request with a wrong key changes nothing',
    async (s) => {
      const { before, after } = await wrongKeys(s);
      expect(before.enabled === after.enabled, show(before), after);
    },
  ],
  [
    'L1-AUTH-08',
    'SHOULD',
    'The answer to a wrong key does not tell which part of it is wrong',
    async (s) => {
      const { early, late } = (await wrongKeys(s)).answers;
      expect(gist(early) === gist(late), 'the same answer to both', `${describe(early)} and ${describe(late)}`);
    },
  ],
  [
    'L1-AUTH-09',
    'MUST',
    'RDCP_AUTH_FAILED names the method that failed',
    async (s) => {
      const error = errorOf((await wrongKeys(s)).answers.other);
      if (error?.code !== 'RDCP_AUTH_FAILED') skip('the server refuses a wrong key with another code');
      expect(METHOD.test(error.method), `error.method to be ${METHOD.is}`, show(error.method));
    },
  ],
  [
    'L1-AUTH-10',
    'SHOULD',
    'The reason given for a wrong key is invalid_key',
    async (s) => {
      const error = errorOf((await wrongKeys(s)).answers.other);
      const reason = valueAt(error, 'details.reason');
      if (reason === undefined) skip('the server gives no reason');
      expect(reason === 'invalid_key', 'details.reason invalid_key', show(reason));
    },
  ],
  [
    'L1-AUTH-11',
    'MUST',
    'No answer repeats the credential that it refuses',
    async (s) => {
      const { answers } = await wrongKeys(s);
      const wrong = nearly(mainKey(s), -1);
      const said = answers.late.text + JSON.stringify(answers.late.headers);
      expect(!said.includes(wrong), 'an answer without the key', 'the key is in it');
    },
  ],
  [
    'L1-AUTH-12',
    'MUST',
    'An empty API key is refused with 401 or 400',
    async (s) => {
      await needRefusals(s);
      const answer = await s.get(PATHS.discovery, { as: apiKey('empty key', '', false) });
      expectRefusal(answer, [400, 401], []);
    },
  ],
  [
    'L1-AUTH-13',
    'MUST',
    'A bearer token that is none is refused with 401',
    async (s) => void (await expectDenied(s, bearer('no token', 'not-a-token', false))),
  ],
  [
    'L1-AUTH-14',
    'MUST',
    'A token without a signature (alg none) is refused with 401',
    async (s) => void (await expectDenied(s, bearer('unsigned token', UNSIGNED_TOKEN, false))),
  ],
  [
    'L1-AUTH-15',
    'MUST',
    'X-RDCP-Auth-Method: mtls without a certificate grants nothing',
    async (s) => void (await expectDenied(s, { label: 'no certificate', method: 'mtls', valid: false })),
  ],
  [
    'L1-AUTH-16',
    'MUST',
    'X-RDCP-Client-ID is no credential',
    async (s) => {
      await needRefusals(s);
      const answer = await s.get(PATHS.status, { as: 'nobody', headers: { 'X-RDCP-Client-ID': 'admin' } });
      expectRefusal(answer, [401], REFUSED_CODES);
    },
  ],
  [
    'L1-AUTH-17',
    'MUST',
    'A key in the query string is no credential: GET takes no query parameters',
    async (s) => {
      await needRefusals(s);
      const key = encodeURIComponent(mainKey(s));
      const answer = await s.get(`${PATHS.status}?api_key=${key}&X-RDCP-API-Key=${key}`, { as: 'nobody' });
      // The path of the request holds the key, so it is not repeated here.
      expect(answer.status === 401 || answer.status === 400, '401', String(answer.status));
    },
  ],
  [
    'L1-AUTH-18',
    'MUST',
    'The credential given for the run reads discovery, status and health',
    async (s) => {
      for (const path of [PATHS.discovery, PATHS.status]) expectOk(await s.get(path));
      const health = await s.get(PATHS.health);
      expect(health.status === 200 || health.status === 503, '200, or 503 when it is not well', describe(health));
    },
  ],
  [
    'L1-AUTH-19',
    'MUST',
    'Several API keys are active at once',
    async (s) => {
      const second = need(s.credentials.readonly, '--readonly-key');
      if (second.method !== 'api-key') skip('the second credential is no API key');
      mainKey(s);
      expectOk(await s.get(PATHS.status));
      expectOk(await s.get(PATHS.status, { as: second }));
    },
  ],
  [
    'L1-AUTH-20',
    'MUST',
    'The API key is long enough for 128 random bits',
    async (s) => {
      const key = mainKey(s);
      const bits = key.length * Math.log2(alphabetOf(key));
      expect(bits >= 128, 'room for 128 bits', `${Math.floor(bits)} bits in ${key.length} characters`);
    },
  ],
  [
    'L1-AUTH-21',
    'SHOULD',
    'The API key carries a version in its format',
    async (s) => expect(/(^|[^a-z0-9])v\d+([^a-z0-9]|$)/i.test(mainKey(s)), 'a part such as v1', 'none in the key'),
  ],
  [
    'L1-AUTH-22',
    'MUST',
    'security.methods names the method that the credential of the run works with',
    async (s) => {
      await needAuthentication(s);
      const { main } = s.credentials;
      if (main === undefined) skip('no credential was given (--key, --token)');
      const methods = valueAt((await wellKnown(s)).body, 'security.methods');
      const offered = Array.isArray(methods) && (main.method === 'hybrid' || methods.includes(main.method));
      expect(offered, `security.methods to hold ${main.method}, which works`, show(methods));
    },
  ],
]);

/** How many characters a key of this look may be made of. */
function alphabetOf(key: string): number {
  if (/^[0-9]*$/.test(key)) return 10;
  if (/^[0-9a-f-]*$/.test(key) || /^[0-9A-F-]*$/.test(key)) return 16;
  return /[A-Z]/.test(key) && /[a-z]/.test(key) ? 64 : 32;
}
