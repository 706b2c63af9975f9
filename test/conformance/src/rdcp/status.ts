import { expectAt, expectNames, expectOk, expectVendorFields, expectVendorFieldsAt, locate, valueAt } from '../body.ts';
import { section } from '../check.ts';
import { expect, isObject, show } from '../expectation.ts';
import { discovery, readCategories, readStates, status } from '../subject.ts';
import { BOOLEAN, CATEGORY_NAME, NON_NEGATIVE, oneOf, TIMESTAMP } from '../value-types.ts';

export const statusChecks = [
  ...section(1, 'GET /rdcp/v1/status', [
    ['L1-STAT-01', 'MUST', 'Status answers 200 with a JSON object', async (s) => void expectOk(await status(s))],
    [
      'L1-STAT-02',
      'MUST',
      'The body carries protocol rdcp/1.0',
      async (s) => expectAt((await status(s)).body, 'protocol', oneOf('rdcp/1.0')),
    ],
    [
      'L1-STAT-03',
      'MUST',
      'timestamp is UTC with milliseconds and Z',
      async (s) => expectAt((await status(s)).body, 'timestamp', TIMESTAMP),
    ],
    ['L1-STAT-04', 'MUST', 'enabled is a boolean', async (s) => expectAt((await status(s)).body, 'enabled', BOOLEAN)],
    [
      'L1-STAT-05',
      'MUST',
      'categories is an object keyed by category names',
      async (s) => expectNames(valueAt((await status(s)).body, 'categories'), 'categories', CATEGORY_NAME),
    ],
    [
      'L1-STAT-06',
      'MUST',
      'Every value in categories is a boolean',
      async (s) => expectAt((await status(s)).body, 'categories{}', BOOLEAN),
    ],
    [
      'L1-STAT-07',
      'MUST',
      'performance.totalCalls is a counter',
      async (s) => expectAt((await status(s)).body, 'performance.totalCalls', NON_NEGATIVE),
    ],
    [
      'L1-STAT-08',
      'MUST',
      'performance.callsPerSecond is a rate',
      async (s) => expectAt((await status(s)).body, 'performance.callsPerSecond', NON_NEGATIVE),
    ],
    [
      'L1-STAT-09',
      'MUST',
      'performance holds totalCalls and callsPerSecond only, beside fields with a vendor prefix',
      async (s) => expectVendorFieldsAt((await status(s)).body, 'performance', ['totalCalls', 'callsPerSecond']),
    ],
    [
      'L1-STAT-10',
      'MUST',
      'Status shows the categories that discovery lists, no more and no fewer',
      async (s) => {
        const listed = locate((await discovery(s)).body, 'categories[].name').map(({ value }) => String(value));
        const states = valueAt((await status(s)).body, 'categories');
        expect(isObject(states), 'categories to be an object', states);
        const shown = Object.keys(states);
        const difference = [
          ...listed.filter((name) => !shown.includes(name)),
          ...shown.filter((name) => !listed.includes(name)),
        ];
        expect(difference.length === 0, 'the same names in status and discovery', `only in one: ${show(difference)}`);
      },
    ],
    [
      'L1-STAT-11',
      'MUST',
      'Status and discovery agree on the state of every category',
      async (s) => {
        // Read again: another client may have switched one between the two answers that were kept.
        const states = await readStates(s);
        const listed = await readCategories(s);
        const other = listed.find(({ name, enabled }) => states[name] !== enabled);
        expect(other === undefined, 'the same state in status and discovery', `both for ${show(other?.name)}`);
      },
    ],
  ]),
  ...section(1, 'Extensibility', [
    [
      'L1-EXT-04',
      'MUST',
      'Fields added to the status answer carry a vendor prefix',
      async (s) =>
        expectVendorFields((await status(s)).body, 'the answer', [
          'protocol',
          'timestamp',
          'enabled',
          'categories',
          'performance',
          'tenant',
        ]),
    ],
  ]),
];
