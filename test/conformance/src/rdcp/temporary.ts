import { expectAt, expectOk } from '../body.ts';
import { section } from '../check.ts';
import { expect } from '../expectation.ts';
import type { Answer } from '../http.ts';
import type { Session } from '../session.ts';
import { needCapability } from '../subject.ts';
import { changeRecord, durations, EXPIRY_GRACE_MS, expiring } from '../switching.ts';
import { oneOf, TIMESTAMP } from '../value-types.ts';

const LONGEST_MS = 24 * 3600_000;

/** Milliseconds from the start to the end of the control that an answer's record states. */
export function statedLength(answer: Answer): number {
  const record = changeRecord(answer);
  return Date.parse(String(record?.expiresAt)) - Date.parse(String(record?.effectiveAt));
}

async function expiringControl(session: Session) {
  await needCapability(session, 'temporaryControls');
  return expiring(session);
}

async function otherDurations(session: Session) {
  await needCapability(session, 'temporaryControls');
  return durations(session);
}

export const temporaryChecks = section(1, 'States and transitions: temporary controls', [
  [
    'L1-TEMP-01',
    'MUST',
    'A temporary control with a duration in seconds is accepted',
    async (s) => void expectOk((await expiringControl(s)).begun.answer),
  ],
  [
    'L1-TEMP-02',
    'MUST',
    'Its change record says that it is temporary',
    async (s) => expectAt((await expiringControl(s)).begun.answer.body, 'changes[].temporary', oneOf(true)),
  ],
  [
    'L1-TEMP-03',
    'MUST',
    'Its change record has expiresAt, UTC with milliseconds and Z',
    async (s) => expectAt((await expiringControl(s)).begun.answer.body, 'changes[].expiresAt', TIMESTAMP),
  ],
  [
    'L1-TEMP-04',
    'MUST',
    'expiresAt is effectiveAt plus the duration',
    async (s) => {
      const { begun, lengthMs } = await expiringControl(s);
      const length = statedLength(begun.answer);
      expect(length === lengthMs, `${lengthMs} ms between them`, `${length} ms`);
    },
  ],
  [
    'L1-TEMP-05',
    'MUST',
    'While it lasts discovery shows the category enabled and temporary',
    async (s) => {
      const { after } = (await expiringControl(s)).begun;
      expect(after.enabled && after.temporary, 'enabled true and temporary true', after);
    },
  ],
  [
    'L1-TEMP-06',
    'MUST',
    'It lasts for its duration',
    async (s) => {
      const { endedAfterMs, lengthMs } = await expiringControl(s);
      expect(endedAfterMs >= lengthMs, `at least ${lengthMs / 1000} s`, `${Math.round(endedAfterMs)} ms`);
    },
  ],
  [
    'L1-TEMP-07',
    'MUST',
    'It expires by itself when the duration has passed',
    async (s) => {
      const { ended, endedAfterMs, lengthMs } = await expiringControl(s);
      const limit = lengthMs + EXPIRY_GRACE_MS;
      expect(!ended.temporary, `temporary false within ${limit} ms`, `true after ${Math.round(endedAfterMs)} ms`);
    },
  ],
  [
    'L1-TEMP-08',
    'MUST',
    'A duration in minutes, as a string, is understood',
    async (s) => {
      const { answer } = (await otherDurations(s)).minutes;
      expectOk(answer);
      expect(statedLength(answer) === 120_000, '2m to be 120000 ms', `${statedLength(answer)} ms`);
    },
  ],
  [
    'L1-TEMP-09',
    'MUST',
    'A duration in hours, as a string, is understood, also while another control runs',
    async (s) => {
      const { answer } = (await otherDurations(s)).hours;
      expectOk(answer);
      expect(statedLength(answer) === 3_600_000, '1h to be 3600000 ms', `${statedLength(answer)} ms`);
    },
  ],
  [
    'L1-TEMP-10',
    'MUST',
    'disable during a temporary control turns the category off',
    async (s) => {
      const { answer, after } = (await otherDurations(s)).ended;
      expectOk(answer);
      expect(!after.enabled, 'enabled false in discovery', after);
    },
  ],
  [
    'L1-TEMP-11',
    'SHOULD',
    'No temporary control lasts longer than 24 hours',
    async (s) => {
      const { answer } = (await otherDurations(s)).day;
      if (answer.status >= 400 && answer.status < 500) return;
      expectOk(answer);
      expect(statedLength(answer) <= LONGEST_MS, '25h to be refused or shortened', `${statedLength(answer)} ms`);
    },
  ],
]);
