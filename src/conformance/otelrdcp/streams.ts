import { expectAt, expectOk, expectRefusal } from '../body.ts';
import { section } from '../check.ts';
import { expect, show, skip } from '../expectation.ts';
import { type Answer, header } from '../http.ts';
import { evidence, PATHS, type Session } from '../session.ts';
import { subject } from '../subject.ts';
import { NON_NEGATIVE, oneOf, TIMESTAMP } from '../value-types.ts';

const MALFORMED = 'RDCP_MALFORMED_REQUEST';

const STREAM = { headers: { Accept: 'text/event-stream' } };

/** Reads with the credential that may read lines. */
function asAdmin({ credentials: { admin } }: Session) {
  return admin === undefined ? STREAM : { as: admin, ...STREAM };
}

function forecast(session: Session, json: object): Promise<Answer> {
  return session.send('POST', PATHS.forecast, { json });
}

/** A tail of one second. */
const tailed = evidence(async (session) => {
  const { name } = await subject(session);
  const answer = await session.get(`${PATHS.tail}?categories=${name}&duration=1`, asAdmin(session));
  if (answer.status === 403) skip('no credential with the scope admin was given');
  return answer;
});

/** The data of the events of one name. */
function dataOf({ text }: Answer, event: string): readonly unknown[] {
  return [...text.matchAll(new RegExp(`^event: ${event}\\ndata: (.*)$`, 'gm'))].map(([, data]) => JSON.parse(data!));
}

function expectStream(answer: Answer): void {
  const type = header(answer, 'content-type');
  const right = answer.status === 200 && type?.startsWith('text/event-stream') === true;
  expect(right, `${answer.request} to be answered with text/event-stream`, `${answer.status} ${type}`);
}

export const streamDecisions = section(
  1,
  'Forecast, tail and events',
  [
    [
      'W-STRM-01',
      'MUST',
      'A forecast answers with measured figures of each category, and with how many processes answered',
      async (s) => {
        const { name } = await subject(s);
        const body = expectOk(await forecast(s, { categories: [name], duration: '1s' }));
        expectAt(body, 'duration', oneOf('1s'));
        for (const figure of ['callsPerSecond', 'bytesPerSecond', 'gigabytesPerDay', 'droppedByBudget']) {
          expectAt(body, `categories.${name}.${figure}.value`, NON_NEGATIVE);
        }
        for (const count of ['asked', 'answered']) expectAt(body, `instances.${count}`, NON_NEGATIVE);
      },
    ],
    [
      'W-STRM-02',
      'MUST',
      'A forecast of no category, of none that is known, or for longer than a minute is refused',
      async (s) => {
        const { name } = await subject(s);
        expectRefusal(await forecast(s, { duration: '1s' }), [400], [MALFORMED]);
        expectRefusal(await forecast(s, { categories: [name], duration: '61s' }), [400], [MALFORMED]);
        const unknown = await forecast(s, { categories: ['NO_SUCH_CATEGORY'], duration: '1s' });
        expectRefusal(unknown, [404], ['RDCP_CATEGORY_NOT_FOUND']);
      },
    ],
    [
      'W-STRM-03',
      'MUST',
      'A tail is a stream of events from open, with its categories and its end, to end, with the reason',
      async (s) => {
        const { name } = await subject(s);
        const answer = await tailed(s);
        expectStream(answer);
        const [open] = dataOf(answer, 'open');
        const [end] = dataOf(answer, 'end');
        expect(open !== undefined && end !== undefined, 'the events open and end', show(answer.text));
        expectAt(open, 'categories[]', oneOf(name));
        expectAt(open, 'expiresAt', TIMESTAMP);
        expectAt(end, 'reason', oneOf('expired'));
      },
    ],
    [
      'W-STRM-04',
      'MUST',
      'A tail without categories, or with a parameter that is unknown or wrong, is refused',
      async (s) => {
        const { name } = await subject(s);
        await tailed(s);
        for (const query of ['', `categories=${name}&colour=blue`, `categories=${name}&rate=none`]) {
          expectRefusal(await s.get(`${PATHS.tail}?${query}`, asAdmin(s)), [400], [MALFORMED]);
        }
      },
    ],
    [
      'W-STRM-05',
      'MUST',
      'Events are a stream that no proxy keeps back',
      async (s) => {
        const answer = await s.send('HEAD', PATHS.events, STREAM);
        expectStream(answer);
        const directives = header(answer, 'cache-control');
        expect(directives?.includes('no-transform') === true, 'Cache-Control: no-transform', String(directives));
      },
    ],
    [
      'W-STRM-06',
      'MUST',
      'Without the scopes for them a forecast and a tail are refused with 403',
      async (s) => {
        const { name } = await subject(s);
        const { readonly } = s.credentials;
        if (readonly === undefined) skip('no credential was given (--readonly-key or --readonly-token)');
        const as = { as: readonly };
        const asked = await s.send('POST', PATHS.forecast, { json: { categories: [name], duration: '1s' }, ...as });
        expectRefusal(asked, [403], ['RDCP_FORBIDDEN']);
        expectRefusal(await s.get(`${PATHS.tail}?categories=${name}`, { ...as, ...STREAM }), [403], ['RDCP_FORBIDDEN']);
      },
    ],
  ],
  { profile: 'otelrdcp' },
);
