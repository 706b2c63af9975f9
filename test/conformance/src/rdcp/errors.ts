import { describe, errorOf, expectOk, expectRefusal, expectVendorFields, valueAt } from '../body.ts';
import { type Row, section } from '../check.ts';
import { expect, type JsonObject, show } from '../expectation.ts';
import { type Answer, header } from '../http.ts';
import { evidence, PATHS, type Session } from '../session.ts';
import { needAuthentication } from '../subject.ts';
import { ERROR_CODE, OBJECT, TEXT } from '../value-types.ts';
import { unknownCategory } from './control.ts';
import { malformed } from './malformed.ts';

/** The registry of the specification: the statuses that each code may come with. */
const STATUSES: Readonly<Record<string, readonly number[]>> = {
  RDCP_AUTH_REQUIRED: [401],
  RDCP_AUTH_FAILED: [401, 403],
  RDCP_FORBIDDEN: [403],
  RDCP_MALFORMED_REQUEST: [400],
  RDCP_CATEGORY_NOT_FOUND: [404],
  RDCP_NOT_FOUND: [404],
  RDCP_RATE_LIMITED: [429],
  RDCP_SERVER_ERROR: [500],
  RDCP_UNAVAILABLE: [503],
};

/** A stack frame, a file of a program, a database's or a parser's own words. */
const IMPLEMENTATION =
  /\bat .+:\d+:\d+|node_modules|\/(src|dist|lib|usr|home|app)\/[\w/.-]+|\.(js|ts|mjs|py|go|java|rb):\d+|Traceback|SQLITE|ECONN|in JSON at position|Unexpected token/;

const unknownPath = evidence((session) => session.get('/rdcp/v1/conformance-no-such-resource'));
const wrongMethod = evidence((session) => session.send('DELETE', PATHS.discovery));

/** One refusal of each kind that any client can provoke. */
const refusals = evidence(async (session: Session): Promise<readonly Answer[]> => {
  const kinds = [await unknownCategory(session), await unknownPath(session), await wrongMethod(session)];
  for (const id of ['L1-MALF-01', 'L1-MALF-05', 'L1-MALF-15']) {
    const answer = (await malformed(session)).answers.get(id);
    if (answer !== undefined) kinds.push(answer);
  }
  try {
    await needAuthentication(session);
    if (session.target.cert === undefined) kinds.push(await session.get(PATHS.discovery, { as: 'nobody' }));
  } catch {
    // A server without authentication refuses no request for a missing credential.
  }
  return kinds;
});

/** A rule for the `error` object of every refusal. */
function forEveryRefusal(rule: (error: JsonObject, answer: Answer) => void): Row[3] {
  return async (session) => {
    for (const answer of await refusals(session)) {
      const error = errorOf(answer);
      expect(error !== undefined, `${answer.request} to be refused with an error object`, describe(answer));
      rule(error, answer);
    }
  };
}

export const errorChecks = section(1, 'Errors', [
  ['L1-ERRO-01', 'MUST', 'Every refusal has an error object', forEveryRefusal(() => undefined)],
  [
    'L1-ERRO-02',
    'MUST',
    'error.code is an ErrorCode',
    forEveryRefusal(({ code }) => expect(ERROR_CODE.test(code), `error.code to be ${ERROR_CODE.is}`, show(code))),
  ],
  [
    'L1-ERRO-03',
    'MUST',
    'error.message is a text',
    forEveryRefusal(({ message }) => expect(TEXT.test(message), `error.message to be ${TEXT.is}`, show(message))),
  ],
  [
    'L1-ERRO-04',
    'MUST',
    'error.details, where there is one, is an object',
    forEveryRefusal(({ details }) =>
      expect(details === undefined || OBJECT.test(details), 'error.details to be an object', show(details)),
    ),
  ],
  [
    'L1-ERRO-05',
    'MUST',
    'Every refusal carries protocol rdcp/1.0, in the error object or beside it',
    forEveryRefusal((error, answer) => {
      const stated = error.protocol ?? valueAt(answer.body, 'protocol');
      expect(stated === 'rdcp/1.0', 'protocol rdcp/1.0', show(answer.body));
    }),
  ],
  [
    'L1-ERRO-06',
    'MUST',
    'A code of the registry comes with its HTTP status',
    forEveryRefusal(({ code }, answer) => {
      const statuses = STATUSES[String(code)];
      const right = statuses === undefined || statuses.includes(answer.status);
      expect(right, `${show(code)} with ${statuses?.join(' or ')}`, String(answer.status));
    }),
  ],
  [
    'L1-ERRO-07',
    'MUST',
    'A code has the form RDCP_[CONTEXT]_[CONDITION], or is one of the registry',
    forEveryRefusal(({ code }) =>
      expect(/^RDCP_[A-Z0-9]+_[A-Z0-9_]+$/.test(String(code)) || String(code) in STATUSES, 'such a code', show(code)),
    ),
  ],
  [
    'L1-ERRO-08',
    'MUST',
    'No message tells implementation details',
    forEveryRefusal((error) =>
      expect(!IMPLEMENTATION.test(JSON.stringify(error)), 'no stack, path or library', show(error)),
    ),
  ],
  [
    'L1-ERRO-09',
    'MUST',
    'Refusals are JSON',
    forEveryRefusal((_error, answer) => {
      const type = header(answer, 'content-type');
      expect(/^application\/(vnd\.rdcp\.v1\+)?json\b/i.test(type ?? ''), 'Content-Type application/json', show(type));
    }),
  ],
  [
    'L1-ERRO-10',
    'MUST',
    'A path that does not exist is refused with 404 RDCP_NOT_FOUND',
    async (s) => void expectRefusal(await unknownPath(s), [404], ['RDCP_NOT_FOUND']),
  ],
  [
    'L1-ERRO-11',
    'MUST',
    'A method that an endpoint does not have is refused with a 4xx',
    async (s) => void expectRefusal(await wrongMethod(s), [400, 403, 404, 405], []),
  ],
  [
    'L1-ERRO-12',
    'MUST',
    'A body nested 10,000 deep is refused with a 4xx, and the server goes on',
    async (s) => {
      const answer = await s.send('POST', PATHS.control, { body: '['.repeat(10_000) + ']'.repeat(10_000) });
      expect(answer.status >= 400 && answer.status < 500, 'a 4xx', describe(answer));
      expectOk(await s.get(PATHS.status));
    },
  ],
  [
    'L1-ERRO-13',
    'MUST',
    'Names that JavaScript gives a meaning are refused like other malformed bodies',
    async (s) => {
      const body = '{"action":"enable","categories":["__proto__"],"__proto__":{"action":"enable"}}';
      expectRefusal(await s.send('POST', PATHS.control, { body }), [400, 404], []);
    },
  ],
  [
    'L1-ERRO-14',
    'MUST',
    'Fields added to a refusal carry a vendor prefix',
    forEveryRefusal((error, answer) => {
      expectVendorFields(answer.body, 'the answer', ['error', 'protocol', 'timestamp', 'tenant']);
      expectVendorFields(error, 'error', ['code', 'message', 'details', 'protocol', 'method']);
    }),
  ],
]);
