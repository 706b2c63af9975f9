import { expectAt, expectNames, expectOk, expectVendorFields, expectVendorFieldsAt, locate, valueAt } from '../body.ts';
import { section } from '../check.ts';
import { expect, isObject, show, skip } from '../expectation.ts';
import { discovery } from '../subject.ts';
import { ARRAY, BOOLEAN, CATEGORY_NAME, NON_NEGATIVE, oneOf, STRING, TIMESTAMP } from '../value-types.ts';

/** Largest clock difference between two parties (Limits). */
const CLOCK_SKEW_MS = 5 * 60_000;

export const discoveryChecks = [
  ...section(1, 'GET /rdcp/v1/discovery', [
    ['L1-DISC-01', 'MUST', 'Discovery answers 200 with a JSON object', async (s) => void expectOk(await discovery(s))],
    [
      'L1-DISC-02',
      'MUST',
      'The body carries protocol rdcp/1.0',
      async (s) => expectAt((await discovery(s)).body, 'protocol', oneOf('rdcp/1.0')),
    ],
    [
      'L1-DISC-03',
      'MUST',
      'timestamp is UTC with milliseconds and Z',
      async (s) => expectAt((await discovery(s)).body, 'timestamp', TIMESTAMP),
    ],
    [
      'L1-DISC-04',
      'SHOULD',
      'timestamp is the time of the answer, within the tolerated clock skew of 5 minutes',
      async (s) => {
        const answer = await discovery(s);
        const stated = valueAt(answer.body, 'timestamp');
        const skew = Math.abs(Date.parse(String(stated)) - answer.receivedAt);
        expect(skew <= CLOCK_SKEW_MS, `a time near ${new Date(answer.receivedAt).toISOString()}`, show(stated));
      },
    ],
    [
      'L1-DISC-05',
      'MUST',
      'categories is an array',
      async (s) => expectAt((await discovery(s)).body, 'categories', ARRAY),
    ],
    [
      'L1-DISC-06',
      'MUST',
      'performance.totalCalls is a counter',
      async (s) => expectAt((await discovery(s)).body, 'performance.totalCalls', NON_NEGATIVE),
    ],
    [
      'L1-DISC-07',
      'MUST',
      'performance.callsPerSecond is a rate',
      async (s) => expectAt((await discovery(s)).body, 'performance.callsPerSecond', NON_NEGATIVE),
    ],
    [
      'L1-DISC-08',
      'MUST',
      'performance.categoryBreakdown maps category names',
      async (s) =>
        expectNames(
          valueAt((await discovery(s)).body, 'performance.categoryBreakdown'),
          'categoryBreakdown',
          CATEGORY_NAME,
        ),
    ],
    [
      'L1-DISC-09',
      'MUST',
      'performance.categoryBreakdown maps to counters',
      async (s) => expectAt((await discovery(s)).body, 'performance.categoryBreakdown{}', NON_NEGATIVE),
    ],
    [
      'L1-DISC-10',
      'SHOULD',
      'performance.categoryBreakdown names listed categories only',
      async (s) => {
        const { body } = await discovery(s);
        const breakdown = valueAt(body, 'performance.categoryBreakdown');
        expect(isObject(breakdown), 'categoryBreakdown to be an object', breakdown);
        const listed = locate(body, 'categories[].name').map(({ value }) => value);
        const strange = Object.keys(breakdown).find((name) => !listed.includes(name));
        expect(strange === undefined, 'names that categories lists', show(strange));
      },
    ],
  ]),
  ...section(1, 'Category', [
    [
      'L1-CAT-01',
      'MUST',
      'Every name is a CategoryName, or carries the prefix X- of custom categories',
      async (s) => expectAt((await discovery(s)).body, 'categories[].name', CATEGORY_NAME),
    ],
    [
      'L1-CAT-02',
      'MUST',
      'Every description is a string',
      async (s) => expectAt((await discovery(s)).body, 'categories[].description', STRING),
    ],
    [
      'L1-CAT-03',
      'MUST',
      'enabled is a boolean',
      async (s) => expectAt((await discovery(s)).body, 'categories[].enabled', BOOLEAN),
    ],
    [
      'L1-CAT-04',
      'MUST',
      'temporary is a boolean',
      async (s) => expectAt((await discovery(s)).body, 'categories[].temporary', BOOLEAN),
    ],
    [
      'L1-CAT-05',
      'MUST',
      'metrics.callsTotal is a counter',
      async (s) => expectAt((await discovery(s)).body, 'categories[].metrics.callsTotal', NON_NEGATIVE),
    ],
    [
      'L1-CAT-06',
      'MUST',
      'metrics.callsPerSecond is a rate',
      async (s) => expectAt((await discovery(s)).body, 'categories[].metrics.callsPerSecond', NON_NEGATIVE),
    ],
    [
      'L1-CAT-07',
      'MUST',
      'A category is a unit: no name is listed twice',
      async (s) => {
        const names = locate((await discovery(s)).body, 'categories[].name').map(({ value }) => value);
        const twice = names.find((name, index) => names.indexOf(name) !== index);
        expect(twice === undefined, 'each name once', show(twice));
      },
    ],
  ]),
  ...section(1, 'Extensibility', [
    [
      'L1-EXT-02',
      'MUST',
      'Fields added to the discovery answer carry a vendor prefix',
      async (s) => {
        const { body } = await discovery(s);
        expectVendorFields(body, 'the answer', ['protocol', 'timestamp', 'categories', 'performance', 'tenant']);
        expectVendorFieldsAt(body, 'performance', ['totalCalls', 'callsPerSecond', 'categoryBreakdown']);
        expectVendorFieldsAt(body, 'categories[]', ['name', 'description', 'enabled', 'temporary', 'metrics']);
        expectVendorFieldsAt(body, 'categories[].metrics', ['callsTotal', 'callsPerSecond']);
      },
    ],
    [
      'L1-EXT-03',
      'MUST',
      'Every custom category is documented: it has a description in discovery',
      async (s) => {
        const custom = locate((await discovery(s)).body, 'categories[]').flatMap(({ value }) =>
          isObject(value) && String(value.name).startsWith('X-') ? [value] : [],
        );
        if (custom.length === 0) skip('the server has no custom category');
        const bare = custom.find(({ description }) => typeof description !== 'string' || description.trim() === '');
        expect(bare === undefined, 'a description of every custom category', show(bare));
      },
    ],
  ]),
];
