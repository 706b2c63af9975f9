import { expectAt, expectOk, expectRefusal, expectVendorFields, expectVendorFieldsAt, valueAt } from '../body.ts';
import { section } from '../check.ts';
import { expect, isObject, show, skip } from '../expectation.ts';
import { evidence } from '../session.ts';
import { readCategories, readStates } from '../subject.ts';
import { changeRecord, REASON, switching } from '../switching.ts';
import { ARRAY, BOOLEAN, CATEGORY_NAME, oneOf, STRING, TIMESTAMP } from '../value-types.ts';

/** A name of the right form that no service has. */
export const UNKNOWN_CATEGORY = 'RDCP_CONFORMANCE_NO_SUCH_CATEGORY';

export const unknownCategory = evidence((session) =>
  session.control({ action: 'enable', categories: [UNKNOWN_CATEGORY] }),
);

export const controlChecks = [
  ...section(1, 'POST /rdcp/v1/control', [
    [
      'L1-CTRL-01',
      'MUST',
      'Control answers 200 with a JSON object',
      async (s) => void expectOk((await switching(s)).enable.answer),
    ],
    [
      'L1-CTRL-02',
      'MUST',
      'The body carries protocol rdcp/1.0',
      async (s) => expectAt((await switching(s)).enable.answer.body, 'protocol', oneOf('rdcp/1.0')),
    ],
    [
      'L1-CTRL-03',
      'MUST',
      'timestamp is UTC with milliseconds and Z',
      async (s) => expectAt((await switching(s)).enable.answer.body, 'timestamp', TIMESTAMP),
    ],
    [
      'L1-CTRL-04',
      'MUST',
      'action is the action performed',
      async (s) => {
        const { enable, disable, toggleOn, status, reset } = await switching(s);
        expectAt(enable.answer.body, 'action', oneOf('enable'));
        expectAt(disable.answer.body, 'action', oneOf('disable'));
        expectAt(toggleOn.answer.body, 'action', oneOf('toggle'));
        expectAt(status.answer.body, 'action', oneOf('status'));
        expectAt(reset.answer.body, 'action', oneOf('reset'));
      },
    ],
    [
      'L1-CTRL-05',
      'MUST',
      'categories is an array with the names addressed',
      async (s) => {
        const { name, enable, disable } = await switching(s);
        for (const { answer } of [enable, disable]) {
          const named = valueAt(answer.body, 'categories');
          expect(JSON.stringify(named) === JSON.stringify([name]), `categories to be ${show([name])}`, show(named));
        }
      },
    ],
    [
      'L1-CTRL-06',
      'MUST',
      'status is success, partial or failed',
      async (s) => expectAt((await switching(s)).enable.answer.body, 'status', oneOf('success', 'partial', 'failed')),
    ],
    [
      'L1-CTRL-07',
      'SHOULD',
      'A change that shows in discovery is not called failed',
      async (s) => {
        const { enable } = await switching(s);
        const said = valueAt(enable.answer.body, 'status');
        expect(!(enable.after.enabled && said === 'failed'), 'success or partial', show(said));
      },
    ],
    [
      'L1-CTRL-08',
      'MUST',
      'message is a string',
      async (s) => expectAt((await switching(s)).enable.answer.body, 'message', STRING),
    ],
    [
      'L1-CTRL-09',
      'MUST',
      'changes is an array',
      async (s) => expectAt((await switching(s)).enable.answer.body, 'changes', ARRAY),
    ],
    [
      'L1-CTRL-10',
      'MUST',
      'categories may be a single name as a string',
      async (s) => void expectOk((await switching(s)).disable.answer),
    ],
    [
      'L1-CTRL-11',
      'MUST',
      'categories may be a list of several names',
      async (s) => {
        const names = (await readCategories(s)).slice(0, 2).map(({ name }) => name);
        if (names.length < 2) skip('the server has only one category');
        const body = expectOk(await s.control({ action: 'status', categories: names }));
        const named = Array.isArray(body.categories) ? body.categories : [];
        expect(
          names.every((name) => named.includes(name)),
          `categories to hold ${show(names)}`,
          show(body.categories),
        );
      },
    ],
    [
      'L1-CTRL-12',
      'MUST',
      'options.reason takes free text',
      async (s) => {
        const { prepared } = await switching(s);
        expect(prepared.answer.status === 200, `200 with options.reason ${show(REASON)}`, show(prepared.answer.body));
      },
    ],
    [
      'L1-CTRL-13',
      'MUST',
      'An unknown category is refused with 404 RDCP_CATEGORY_NOT_FOUND',
      async (s) => void expectRefusal(await unknownCategory(s), [404], ['RDCP_CATEGORY_NOT_FOUND']),
    ],
    [
      'L1-CTRL-14',
      'MUST',
      'An unknown category does not come into being by being addressed',
      async (s) => {
        await unknownCategory(s);
        expect(!(UNKNOWN_CATEGORY in (await readStates(s))), 'status without the unknown name', 'it is listed');
      },
    ],
  ]),
  ...section(1, 'Change record', [
    [
      'L1-CHNG-01',
      'MUST',
      'category names what was addressed',
      async (s) => {
        const { name, enable } = await switching(s);
        expectAt(enable.answer.body, 'changes[].category', oneOf(name));
      },
    ],
    [
      'L1-CHNG-02',
      'MUST',
      'category is a CategoryName',
      async (s) => expectAt((await switching(s)).enable.answer.body, 'changes[].category', CATEGORY_NAME),
    ],
    [
      'L1-CHNG-03',
      'MUST',
      'previousState is a boolean',
      async (s) => expectAt((await switching(s)).enable.answer.body, 'changes[].previousState', BOOLEAN),
    ],
    [
      'L1-CHNG-04',
      'MUST',
      'newState is a boolean',
      async (s) => expectAt((await switching(s)).enable.answer.body, 'changes[].newState', BOOLEAN),
    ],
    [
      'L1-CHNG-05',
      'MUST',
      'temporary is false for a change without a time limit',
      async (s) => expectAt((await switching(s)).enable.answer.body, 'changes[].temporary', oneOf(false)),
    ],
    [
      'L1-CHNG-06',
      'MUST',
      'effectiveAt is UTC with milliseconds and Z',
      async (s) => expectAt((await switching(s)).enable.answer.body, 'changes[].effectiveAt', TIMESTAMP),
    ],
    [
      'L1-CHNG-07',
      'MUST',
      'expiresAt is not set for a change without a time limit',
      async (s) => {
        const record = changeRecord((await switching(s)).enable.answer);
        expect(isObject(record), 'a change record', record);
        expect(record.expiresAt === undefined || record.expiresAt === null, 'no expiresAt', show(record.expiresAt));
      },
    ],
  ]),
  ...section(1, 'States and transitions', [
    [
      'L1-TRNS-01',
      'MUST',
      'enable turns a category on that was off: previousState false, newState true',
      async (s) => {
        const { enable } = await switching(s);
        expectAt(enable.answer.body, 'changes[].previousState', oneOf(false));
        expectAt(enable.answer.body, 'changes[].newState', oneOf(true));
      },
    ],
    [
      'L1-TRNS-02',
      'MUST',
      'After enable discovery shows the category enabled and not temporary',
      async (s) => {
        const { after } = (await switching(s)).enable;
        expect(after.enabled && !after.temporary, 'enabled true and temporary false', after);
      },
    ],
    [
      'L1-TRNS-03',
      'MUST',
      'After enable the status endpoint shows the category enabled',
      async (s) => {
        const { name, statesAfter } = await switching(s);
        expect(statesAfter[name] === true, `${name} true`, statesAfter[name]);
      },
    ],
    [
      'L1-TRNS-04',
      'MUST',
      'A category is switched as a unit: no other one changes with it',
      async (s) => {
        const { name, statesBefore, statesAfter } = await switching(s);
        const others = Object.keys(statesBefore).filter((other) => other !== name);
        if (others.length === 0) skip('the server has only one category');
        const changed = others.find((other) => statesBefore[other] !== statesAfter[other]);
        expect(changed === undefined, `only ${name} to change`, show(changed));
      },
    ],
    [
      'L1-TRNS-05',
      'MUST',
      'disable turns the category off, in the change record and in discovery',
      async (s) => {
        const { answer, after } = (await switching(s)).disable;
        expectAt(answer.body, 'changes[].newState', oneOf(false));
        expect(!after.enabled, 'enabled false in discovery', after);
      },
    ],
    [
      'L1-TRNS-06',
      'MUST',
      'toggle turns on what is off',
      async (s) => {
        const { answer, after } = (await switching(s)).toggleOn;
        expectOk(answer);
        expect(after.enabled, 'enabled true in discovery', after);
      },
    ],
    [
      'L1-TRNS-07',
      'MUST',
      'toggle turns off what is on',
      async (s) => {
        const { answer, after } = (await switching(s)).toggleOff;
        expectOk(answer);
        expect(!after.enabled, 'enabled false in discovery', after);
      },
    ],
    [
      'L1-TRNS-08',
      'MUST',
      'status is an action, and changes nothing',
      async (s) => {
        const { status, toggleOff } = await switching(s);
        expectOk(status.answer);
        expect(status.after.enabled === toggleOff.after.enabled, show(toggleOff.after), status.after);
      },
    ],
    [
      'L1-TRNS-09',
      'MUST',
      'reset is an action, after which the category has no time limit',
      async (s) => {
        const { answer, after } = (await switching(s)).reset;
        expectOk(answer);
        expect(!after.temporary, 'temporary false in discovery', after);
      },
    ],
    [
      'L1-TRNS-10',
      'MUST',
      'The newState of every change is what discovery shows afterwards',
      async (s) => {
        const { enable, disable, toggleOn, toggleOff, reset } = await switching(s);
        const steps = [enable, disable, toggleOn, toggleOff, reset];
        if (steps.every(({ answer }) => changeRecord(answer) === undefined)) skip('no answer holds a change record');
        for (const { answer, after } of steps) {
          const record = changeRecord(answer);
          // The specification does not say whether an action without effect has a record.
          if (record === undefined) continue;
          const action = show(valueAt(answer.body, 'action'));
          expect(record.newState === after.enabled, `newState ${after.enabled} after ${action}`, record);
        }
      },
    ],
  ]),
  ...section(1, 'Extensibility', [
    [
      'L1-EXT-06',
      'MUST',
      'Fields added to the control answer carry a vendor prefix',
      async (s) => {
        const { body } = (await switching(s)).enable.answer;
        const known = ['protocol', 'timestamp', 'action', 'categories', 'status', 'message', 'changes', 'tenant'];
        expectVendorFields(body, 'the answer', known);
        const fields = ['category', 'previousState', 'newState', 'temporary', 'effectiveAt', 'expiresAt'];
        expectVendorFieldsAt(body, 'changes[]', fields);
      },
    ],
  ]),
];
