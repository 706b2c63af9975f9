import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ControlOutcome } from '../../src/control/types.ts';
import type { Fleet } from '../../src/fleet/types.ts';
import { acknowledged } from '../../src/server/routes/control.ts';

const NO_CHOICE = { chosen: () => [] };
const outcome = { response: { status: 'success', message: 'DATABASE is on' }, position: undefined } as never;
const answer = async (summary: unknown, given: ControlOutcome = outcome) => {
  const { status, message } = await acknowledged(
    given,
    { acknowledged: async () => summary } as never as Fleet,
    NO_CHOICE,
  );
  return `${status}: ${message}`;
};

test('a change is partial until every process has applied it, and names how many have not', async () => {
  assert.equal(await answer({ instances: 3, applied: 3 }), 'success: DATABASE is on');
  assert.equal(
    await answer({ instances: 3, applied: 2 }),
    'partial: DATABASE is on; 1 of 3 processes has not applied it yet',
  );
  assert.equal(
    await answer({ instances: 3, applied: 1 }),
    'partial: DATABASE is on; 2 of 3 processes have not applied it yet',
  );
});

test('while the store is away a change is partial, because it is unknown which process has it', async () => {
  assert.match(await answer(undefined), /^partial: DATABASE is on; who has applied it is not known/);
});
