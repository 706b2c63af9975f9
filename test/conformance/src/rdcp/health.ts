import { expectAt, expectVendorFields, expectVendorFieldsAt, locate, valueAt } from '../body.ts';
import { section } from '../check.ts';
import { expect, isObject, show } from '../expectation.ts';
import type { Session } from '../session.ts';
import { health } from '../subject.ts';
import { ARRAY, ELAPSED, oneOf, TEXT, TIMESTAMP } from '../value-types.ts';

/** A server that is not well may say so with 503 and the same body: the specification shows no other status. */
async function healthBody(session: Session): Promise<unknown> {
  const answer = await health(session);
  const answered = answer.status === 200 || (answer.status === 503 && isObject(answer.body));
  expect(
    answered,
    'health to be answered with 200, or 503 when it is not well',
    `${answer.status} ${show(answer.body)}`,
  );
  return answer.body;
}

export const healthChecks = [
  ...section(1, 'GET /rdcp/v1/health', [
    [
      'L1-HEAL-01',
      'MUST',
      'Health answers with a JSON object',
      async (s) => {
        const body = await healthBody(s);
        expect(isObject(body), 'a JSON object', body);
      },
    ],
    [
      'L1-HEAL-02',
      'MUST',
      'The body carries protocol rdcp/1.0',
      async (s) => expectAt(await healthBody(s), 'protocol', oneOf('rdcp/1.0')),
    ],
    [
      'L1-HEAL-03',
      'MUST',
      'timestamp is UTC with milliseconds and Z',
      async (s) => expectAt(await healthBody(s), 'timestamp', TIMESTAMP),
    ],
    [
      'L1-HEAL-04',
      'MUST',
      'status says in a word how it is',
      async (s) => expectAt(await healthBody(s), 'status', TEXT),
    ],
    ['L1-HEAL-05', 'MUST', 'checks is an array', async (s) => expectAt(await healthBody(s), 'checks', ARRAY)],
    [
      'L1-HEAL-06',
      'SHOULD',
      'A server whose checks all pass calls itself healthy',
      async (s) => {
        const body = await healthBody(s);
        const wrong = locate(body, 'checks[].status').some(({ value }) => value !== 'pass');
        expect(
          wrong || valueAt(body, 'status') === 'healthy',
          'healthy where every check passes',
          valueAt(body, 'status'),
        );
      },
    ],
  ]),
  ...section(1, 'Health check record', [
    ['L1-HREC-01', 'MUST', 'name is a string', async (s) => expectAt(await healthBody(s), 'checks[].name', TEXT)],
    ['L1-HREC-02', 'MUST', 'status is a string', async (s) => expectAt(await healthBody(s), 'checks[].status', TEXT)],
    [
      'L1-HREC-03',
      'MUST',
      'duration is a string with a unit, such as 12ms',
      async (s) => expectAt(await healthBody(s), 'checks[].duration', ELAPSED),
    ],
  ]),
  ...section(1, 'Extensibility', [
    [
      'L1-EXT-05',
      'MUST',
      'Fields added to the health answer carry a vendor prefix',
      async (s) => {
        const body = await healthBody(s);
        expectVendorFields(body, 'the answer', ['protocol', 'timestamp', 'status', 'checks', 'tenant']);
        expectVendorFieldsAt(body, 'checks[]', ['name', 'status', 'duration']);
      },
    ],
  ]),
];
