import assert from 'node:assert/strict';
import { stat } from 'node:fs';
import { test } from 'node:test';
import { DeadlineError, within } from '../../src/store/reconnecting.ts';
import { settled, virtualTime } from '../support/virtual-time.ts';

/** Nothing of this process runs meanwhile, as in a long computation of the application. */
const standStill = (milliseconds: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);

test('an answer that arrived while the event loop stood still is in time', async () => {
  const answered = within(20, () => new Promise((resolve) => stat('.', resolve)));
  standStill(100);
  assert.equal(await answered, null);
});

test('no answer is an error at the deadline, and what was asked for is given up', async () => {
  const time = virtualTime();
  let given: AbortSignal | undefined;
  const asked = within(
    1000,
    (signal) => {
      given = signal;
      return new Promise(() => {});
    },
    time.delay,
  );
  const failed = assert.rejects(asked, DeadlineError);
  await time.pass(999);
  assert.equal(given?.aborted, false);
  await time.pass(1);
  await settled();
  assert.equal(given?.aborted, true);
  await failed;
});
