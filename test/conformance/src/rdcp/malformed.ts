import { expectRefusal } from '../body.ts';
import { type Row, section } from '../check.ts';
import { expect, show } from '../expectation.ts';
import type { Answer } from '../http.ts';
import { evidence, PATHS, type SendOptions, type Session } from '../session.ts';
import { readStates, subject } from '../subject.ts';

/** A body that must be refused, made of the name of a category that exists. */
interface Malformed {
  readonly id: string;
  readonly statement: string;
  readonly body: (name: string) => SendOptions;
  /** The rule for names and the rule for unknown names both apply: either refusal will do. */
  readonly orUnknown?: boolean;
}

const json = (build: (name: string) => unknown) => (name: string) => ({ json: build(name) });
const withOptions = (options: unknown) => json((name) => ({ action: 'enable', categories: [name], options }));

const MALFORMED: readonly Malformed[] = [
  { id: 'L1-MALF-01', statement: 'A body that is no JSON', body: () => ({ body: '{"action":"enable",' }) },
  { id: 'L1-MALF-02', statement: 'An empty body', body: () => ({ body: '' }) },
  { id: 'L1-MALF-03', statement: 'An array instead of an object', body: json(() => []) },
  { id: 'L1-MALF-04', statement: 'A body without action', body: json((name) => ({ categories: [name] })) },
  {
    id: 'L1-MALF-05',
    statement: 'An action that does not exist',
    body: json((name) => ({ action: 'explode', categories: [name] })),
  },
  {
    id: 'L1-MALF-06',
    statement: 'An action that is no string',
    body: json((name) => ({ action: true, categories: [name] })),
  },
  { id: 'L1-MALF-07', statement: 'An empty category list', body: json(() => ({ action: 'enable', categories: [] })) },
  {
    id: 'L1-MALF-08',
    statement: 'A category list that names one twice',
    body: json((name) => ({ action: 'enable', categories: [name, name] })),
  },
  {
    id: 'L1-MALF-09',
    statement: 'categories that is a number',
    body: json(() => ({ action: 'enable', categories: 7 })),
  },
  {
    id: 'L1-MALF-10',
    statement: 'A category list with an element that is no string',
    body: json((name) => ({ action: 'enable', categories: [name, 7] })),
  },
  {
    id: 'L1-MALF-11',
    statement: 'A category name in lower case',
    body: json((name) => ({ action: 'enable', categories: [name.toLowerCase()] })),
    orUnknown: true,
  },
  {
    id: 'L1-MALF-12',
    statement: 'A category name of 65 characters',
    body: json(() => ({ action: 'enable', categories: ['A'.repeat(65)] })),
    orUnknown: true,
  },
  { id: 'L1-MALF-13', statement: 'options that is no object', body: withOptions('15m') },
  {
    id: 'L1-MALF-14',
    statement: 'temporary that is no boolean',
    body: withOptions({ temporary: 'yes', duration: 60 }),
  },
  {
    id: 'L1-MALF-15',
    statement: 'A duration with an unknown unit',
    body: withOptions({ temporary: true, duration: '5x' }),
  },
  { id: 'L1-MALF-16', statement: 'A negative duration', body: withOptions({ temporary: true, duration: -60 }) },
  {
    id: 'L1-MALF-17',
    statement: 'A duration that is no whole number of seconds',
    body: withOptions({ temporary: true, duration: 1.5 }),
  },
  { id: 'L1-MALF-18', statement: 'A reason that is no string', body: withOptions({ reason: { text: 'because' } }) },
];

/** Every bad body once, with the state of the categories before and after. */
export const malformed = evidence(async (session: Session) => {
  const { name } = await subject(session);
  // All of the bodies ask for enable: one that is obeyed shows.
  await session.control({ action: 'disable', categories: [name] });
  const before = await readStates(session);
  const answers = new Map<string, Answer>();
  for (const { id, body } of MALFORMED) {
    const options = body(name);
    // An empty body is still said to be JSON, so that its emptiness is what is wrong with it.
    const headers = { 'Content-Type': 'application/json' };
    answers.set(id, await session.send('POST', PATHS.control, { ...options, headers }));
  }
  return { before, after: await readStates(session), answers };
});

export const malformedChecks = section(1, 'POST /rdcp/v1/control: malformed bodies', [
  ...MALFORMED.map(
    ({ id, statement, orUnknown }): Row => [
      id,
      'MUST',
      `${statement} is refused with 400 RDCP_MALFORMED_REQUEST${orUnknown === true ? ', or as unknown' : ''}`,
      async (s) => {
        const answer = (await malformed(s)).answers.get(id);
        expect(answer !== undefined, 'an answer', answer);
        const unknown = orUnknown === true && answer.status === 404;
        if (unknown) expectRefusal(answer, [404], ['RDCP_CATEGORY_NOT_FOUND']);
        else expectRefusal(answer, [400], ['RDCP_MALFORMED_REQUEST']);
      },
    ],
  ),
  [
    'L1-MALF-19',
    'MUST',
    'None of the malformed bodies changes the state of a category',
    async (s) => {
      const { before, after } = await malformed(s);
      const changed = Object.keys(before).find((name) => before[name] !== after[name]);
      expect(changed === undefined, 'every category as it was', `another state of ${show(changed)}`);
    },
  ],
]);
