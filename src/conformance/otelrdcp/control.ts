import { randomUUID } from 'node:crypto';
import { expectAt, expectOk, expectRefusal, valueAt } from '../body.ts';
import { type Row, section } from '../check.ts';
import { expect, isObject, type JsonObject, show, skip } from '../expectation.ts';
import { header } from '../http.ts';
import { UNKNOWN_CATEGORY } from '../rdcp/control.ts';
import { statedLength } from '../rdcp/temporary.ts';
import { evidence, PATHS, type Session } from '../session.ts';
import { capability, readStates, subject } from '../subject.ts';
import { changeRecord, durations, expiring, step, switching } from '../switching.ts';
import { BOOLEAN, oneOf, TIMESTAMP } from '../value-types.ts';

const MALFORMED = 'RDCP_MALFORMED_REQUEST';
const DEFAULT_LENGTH_MS = 15 * 60_000;

/** A control request about the category that is switched, which must be refused as malformed. */
function refused(request: JsonObject, detail?: readonly [path: string, value: unknown]): Row[3] {
  return async (session) => {
    const { name } = await subject(session);
    const error = expectRefusal(await session.control({ categories: [name], ...request }), [400], [MALFORMED]);
    if (detail !== undefined) expectAt(error, `details.${detail[0]}`, oneOf(detail[1]));
  };
}

/** The category in discovery, with the fields that this implementation adds. */
async function discovered(session: Session): Promise<JsonObject> {
  const { name } = await subject(session);
  const { categories } = expectOk(await session.get(PATHS.discovery));
  const found = Array.isArray(categories) ? categories.filter(isObject).find((one) => one.name === name) : undefined;
  return found ?? skip(`discovery does not list ${name}`);
}

/** A temporary control without a duration, what is told of it while it runs, and its end by a permanent setting. */
const defaulted = evidence(async (session) => {
  await step(session, { action: 'disable' });
  const begun = await step(session, { action: 'enable', options: { temporary: true } });
  const shown = await discovered(session);
  const told = await step(session, { action: 'status' });
  const settled = await step(session, { action: 'enable' });
  const again = await step(session, { action: 'enable' });
  const reset = await step(session, { action: 'reset' });
  return { begun, shown, told, settled, again, reset, afterReset: await discovered(session) };
});

/** A toggle, the same request again, and another one under the same id. */
const repeated = evidence(async (session) => {
  const { name } = await subject(session);
  const before = await step(session, { action: 'disable' });
  const headers = { 'X-RDCP-Request-ID': `conformance-${randomUUID()}` };
  const toggle = { action: 'toggle', categories: [name] };
  const first = await session.control(toggle, { headers });
  const second = await session.control(toggle, { headers });
  const other = await session.control({ action: 'disable', categories: [name] }, { headers });
  return { before, first, second, other, after: (await readStates(session))[name] };
});

export const controlDecisions = section(
  1,
  'Control',
  [
    [
      'W-CTRL-01',
      'MUST',
      'enable, disable and toggle need categories',
      async (s) => {
        for (const action of ['enable', 'disable', 'toggle']) await refused({ action, categories: undefined })(s);
      },
    ],
    [
      'W-CTRL-02',
      'MUST',
      'status without categories is about all of them, one record each, and changes none',
      async (s) => {
        const before = await readStates(s);
        const body = expectOk(await s.control({ action: 'status' }));
        const changes = Array.isArray(body.changes) ? body.changes.filter(isObject) : [];
        expect(
          changes.length === Object.keys(before).length,
          `${Object.keys(before).length} records`,
          String(changes.length),
        );
        const other = changes.find(({ previousState, newState }) => previousState !== newState);
        expect(other === undefined, 'previousState to be newState', other);
      },
    ],
    [
      'W-CTRL-03',
      'MUST',
      'An unknown name beside a known one is refused with 404 and details.unknown, and nothing is applied',
      async (s) => {
        const { name } = await subject(s);
        const before = (await readStates(s))[name];
        const answer = await s.control({ action: 'toggle', categories: [name, UNKNOWN_CATEGORY] });
        const error = expectRefusal(answer, [404], ['RDCP_CATEGORY_NOT_FOUND']);
        expectAt(error, 'details.unknown[]', oneOf(UNKNOWN_CATEGORY));
        expect((await readStates(s))[name] === before, `${name} as it was`, 'another state');
      },
    ],
    [
      'W-CTRL-04',
      'MUST',
      'A custom name of the right form that is unknown is refused with 404',
      async (s) => {
        const answer = await s.control({ action: 'enable', categories: ['X-CONFORMANCE-NO-SUCH_1'] });
        expectRefusal(answer, [404], ['RDCP_CATEGORY_NOT_FOUND']);
      },
    ],
    [
      'W-CTRL-05',
      'MUST',
      'A name that breaks the pattern is refused with 400 and details.field',
      async (s) => {
        for (const bad of ['lower', 'X-lower', 'X-', 'A'.repeat(65), '']) {
          const error = expectRefusal(await s.control({ action: 'enable', categories: [bad] }), [400], [MALFORMED]);
          const field = valueAt(error, 'details.field');
          expect(String(field).startsWith('categories'), 'details.field categories…', show(field));
        }
      },
    ],
    [
      'W-CTRL-06',
      'MUST',
      'The message of success: status is success, and each record tells what was before',
      async (s) => {
        const { enable, disable, toggleOn } = await switching(s);
        for (const { answer } of [enable, disable, toggleOn]) expectAt(answer.body, 'status', oneOf('success'));
        expectAt(disable.answer.body, 'changes[].previousState', oneOf(true));
        expectAt(toggleOn.answer.body, 'changes[].previousState', oneOf(false));
      },
    ],
    [
      'W-CTRL-07',
      'MUST',
      'Enabling what is on is a success, with previousState equal to newState',
      async (s) => {
        const { body } = (await defaulted(s)).again.answer;
        expectAt(body, 'status', oneOf('success'));
        expectAt(body, 'changes[].previousState', oneOf(true));
        expectAt(body, 'changes[].newState', oneOf(true));
      },
    ],
    [
      'W-CTRL-08',
      'MUST',
      'The action status answers previousState equal to newState',
      async (s) => {
        const record = changeRecord((await switching(s)).status.answer);
        expect(record !== undefined && record.previousState === record.newState, 'equal states', show(record));
      },
    ],
    [
      'W-CTRL-09',
      'MUST',
      'A change without a time limit ends a temporary one',
      async (s) => {
        const { begun, settled } = await defaulted(s);
        expect(begun.after.temporary, 'a temporary control first', begun.after);
        expect(settled.after.enabled && !settled.after.temporary, 'enabled, and not temporary', settled.after);
      },
    ],
    [
      'W-CTRL-10',
      'MUST',
      'After the expiry the permanent setting shows again',
      async (s) => {
        const { ended } = await expiring(s);
        expect(!ended.enabled && !ended.temporary, 'disabled, as before', ended);
      },
    ],
    [
      'W-CTRL-11',
      'MUST',
      'A temporary control without a duration is accepted',
      async (s) => {
        const { begun } = await defaulted(s);
        expectOk(begun.answer);
        expectAt(begun.answer.body, 'changes[].temporary', oneOf(true));
        expectAt(begun.answer.body, 'changes[].expiresAt', TIMESTAMP);
      },
    ],
    [
      'W-CTRL-12',
      'SHOULD',
      'A temporary control without a duration lasts 15 minutes, unless the server is configured otherwise',
      async (s) => {
        const length = statedLength((await defaulted(s)).begun.answer);
        expect(length === DEFAULT_LENGTH_MS, `${DEFAULT_LENGTH_MS} ms`, `${length} ms`);
      },
    ],
    [
      'W-CTRL-13',
      'MUST',
      'The action status tells when a temporary control ends',
      async (s) => {
        const { begun, told } = await defaulted(s);
        const expiresAt = changeRecord(begun.answer)?.expiresAt;
        expectAt(told.answer.body, 'changes[].temporary', oneOf(true));
        expectAt(told.answer.body, 'changes[].expiresAt', oneOf(expiresAt));
      },
    ],
    [
      'W-CTRL-14',
      'MUST',
      'A duration without temporary makes the change temporary',
      async (s) => {
        const { answer, after } = await step(s, { action: 'enable', options: { duration: '3m' } });
        await step(s, { action: 'reset' });
        expectOk(answer);
        expect(after.temporary && statedLength(answer) === 180_000, 'a temporary control of 3 minutes', answer.text);
      },
    ],
    [
      'W-CTRL-15',
      'MUST',
      'temporary: false with a duration is refused with 400',
      refused({ action: 'enable', options: { temporary: false, duration: 60 } }),
    ],
    [
      'W-CTRL-16',
      'MUST',
      'temporary or a duration with reset or status is refused with 400',
      async (s) => {
        await refused({ action: 'reset', options: { temporary: true } })(s);
        await refused({ action: 'status', options: { duration: '5m' } })(s);
      },
    ],
    [
      'W-CTRL-17',
      'MUST',
      'A duration over the maximum is refused with 400 and details.maximum, never shortened',
      async (s) => {
        const { answer } = (await durations(s)).day;
        expectAt(expectRefusal(answer, [400], [MALFORMED]), 'details.maximum', oneOf('1d'));
      },
    ],
    [
      'W-CTRL-18',
      'MUST',
      'A duration that is no positive whole number is refused with 400',
      async (s) => {
        for (const duration of [0, '0m', '1.5h', '15', ' 5m', '5M', null]) {
          await refused({ action: 'enable', options: { temporary: true, duration } })(s);
        }
      },
    ],
    [
      'W-CTRL-19',
      'MUST',
      'A reason is 1 to 500 characters without control characters',
      async (s) => {
        const { name } = await subject(s);
        const ask = (reason: string) => ({ action: 'status', categories: [name], options: { reason } });
        expectOk(await s.control(ask('x'.repeat(500))));
        for (const bad of ['', 'x'.repeat(501), 'one\ntwo', 'bell \u0007']) {
          expectRefusal(await s.control(ask(bad)), [400], [MALFORMED]);
        }
      },
    ],
    [
      'W-CTRL-20',
      'MUST',
      'Discovery tells the default and the origin of every state',
      async (s) => {
        const { body } = await s.get(PATHS.discovery);
        expectAt(body, 'categories[].otelrdcp_default', BOOLEAN);
        expectAt(body, 'categories[].otelrdcp_origin', oneOf('default', 'global', 'tenant', 'temporary'));
      },
    ],
    [
      'W-CTRL-21',
      'MUST',
      'While a temporary control runs, discovery tells its end',
      async (s) => {
        const { begun, shown } = await defaulted(s);
        expectAt(shown, 'otelrdcp_origin', oneOf('temporary'));
        expectAt(shown, 'otelrdcp_expiresAt', oneOf(changeRecord(begun.answer)?.expiresAt));
      },
    ],
    [
      'W-CTRL-22',
      'MUST',
      'After reset a category has its default, or what a tenant inherits',
      async (s) => {
        const { afterReset } = await defaulted(s);
        const inherited = (await capability(s, 'multiTenancy')) && afterReset.otelrdcp_origin === 'global';
        if (inherited) return;
        expectAt(afterReset, 'otelrdcp_origin', oneOf('default'));
        expectAt(afterReset, 'enabled', oneOf(afterReset.otelrdcp_default));
      },
    ],
    [
      'W-CTRL-23',
      'MUST',
      'A repeated request gets the first answer again, with X-RDCP-Replayed: true, and has no second effect',
      async (s) => {
        const { first, second, after } = await repeated(s);
        expectOk(first);
        expect(second.text === first.text, show(first.body), show(second.body));
        expect(header(second, 'x-rdcp-replayed') === 'true', 'X-RDCP-Replayed: true', show(second.headers));
        expect(after === true, 'toggled once', show(after));
      },
    ],
    [
      'W-CTRL-24',
      'MUST',
      'Another request under the same id is refused with 422 RDCP_REQUEST_ID_REUSED',
      async (s) => void expectRefusal((await repeated(s)).other, [422], ['RDCP_REQUEST_ID_REUSED']),
    ],
  ],
  { profile: 'otelrdcp' },
);
