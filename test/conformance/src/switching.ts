import { expectOk, locate } from './body.ts';
import { isObject, type JsonObject } from './expectation.ts';
import type { Answer } from './http.ts';
import { evidence, type Session } from './session.ts';
import { type CategoryState, readCategory, readStates, subject } from './subject.ts';

/** One control request with what the server showed afterwards. */
export interface Step {
  readonly answer: Answer;
  /** The category in discovery. */
  readonly after: CategoryState;
}

export async function step(session: Session, request: JsonObject): Promise<Step> {
  const { name } = await subject(session);
  const answer = await session.control({ categories: [name], ...request });
  return { answer, after: await readCategory(session, name) };
}

/** The record of the one category in an answer's `changes`. */
export function changeRecord(answer: Answer): JsonObject | undefined {
  const record = locate(answer.body, 'changes[]')[0]?.value;
  return isObject(record) ? record : undefined;
}

export const REASON = 'Conformance test: é, 日本, "quotes" and <brackets>';

/** Every action once, in an order in which each one's effect shows. The checks share it to spare control requests. */
export const switching = evidence(async (session) => {
  const { name } = await subject(session);
  const prepared = await step(session, { action: 'disable', options: { reason: REASON } });
  const statesBefore = await readStates(session);
  const enable = await step(session, { action: 'enable' });
  const statesAfter = await readStates(session);
  const disable = await step(session, { action: 'disable', categories: name });
  const toggleOn = await step(session, { action: 'toggle' });
  const toggleOff = await step(session, { action: 'toggle' });
  const status = await step(session, { action: 'status' });
  const reset = await step(session, { action: 'reset' });
  return { name, prepared, statesBefore, enable, statesAfter, disable, toggleOn, toggleOff, status, reset };
});

/** Seconds of a temporary control whose end is waited for: the shortest in which it is seen running. */
const LENGTHS = [2, 8, 32] as const;
const POLL_MS = 100;
/** How late an expiry may show: timers, and a server that looks at deadlines now and then. */
export const EXPIRY_GRACE_MS = 5000;

/** A temporary control, begun; a longer one where it was over before the server's next answer was here. */
async function beginShort(session: Session, index = 0): Promise<{ begun: Step; started: number; lengthMs: number }> {
  const seconds = LENGTHS[index] ?? 0;
  await step(session, { action: 'disable' });
  const started = session.timing.now();
  const begun = await step(session, { action: 'enable', options: { temporary: true, duration: seconds } });
  expectOk(begun.answer);
  const lengthMs = seconds * 1000;
  const seenInTime = session.timing.now() - started < lengthMs;
  return seenInTime || index === LENGTHS.length - 1 ? { begun, started, lengthMs } : beginShort(session, index + 1);
}

/** A temporary control from its start to its end. */
export const expiring = evidence(async (session) => {
  const { timing } = session;
  const { begun, started, lengthMs } = await beginShort(session);
  let ended = begun.after;
  for (;;) {
    const sentAt = timing.now() - started;
    ended = await readCategory(session, begun.after.name);
    if (!ended.temporary || sentAt > lengthMs + EXPIRY_GRACE_MS) break;
    await timing.sleep(POLL_MS);
  }
  return { begun, ended, lengthMs, endedAfterMs: timing.now() - started };
});

/** Temporary controls with a duration in text, one after the other, and how one ends before its time. */
export const durations = evidence(async (session) => {
  const minutes = await step(session, { action: 'enable', options: { temporary: true, duration: '2m' } });
  const hours = await step(session, { action: 'enable', options: { temporary: true, duration: '1h' } });
  const ended = await step(session, { action: 'disable' });
  const day = await step(session, { action: 'enable', options: { temporary: true, duration: '25h' } });
  await step(session, { action: 'reset' });
  return { minutes, hours, ended, day };
});
