import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Fleet } from '../../src/control/fleet/types.ts';
import type { ControlOutcome } from '../../src/control/types.ts';
import { acknowledged } from '../../src/endpoint/routes/control.ts';

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
  const [a, b] = ['2026-11-28T10:00:07.000Z', '2026-11-28T10:00:05.000Z'];
  const cases = [
    [[], {}, 'success: DATABASE is on'],
    [['a'], {}, 'partial: DATABASE is on; 1 of 3 processes has not applied it yet'],
    [['a', 'b'], {}, 'partial: DATABASE is on; 2 of 3 processes have not applied it yet'],
    [['a'], { a }, 'partial: DATABASE is on; 1 of 3 processes has not been heard of since 10:00:07 UTC'],
    [['a', 'b'], { a, b }, 'partial: DATABASE is on; 2 of 3 processes have not been heard of since 10:00:05 UTC'],
    [
      ['a', 'b', 'c'],
      { a, b },
      'partial: DATABASE is on; 1 of 3 processes has not applied it yet, 2 of 3 processes have not been heard of since 10:00:05 UTC',
    ],
  ] as const;
  for (const [pending, lastSeen, expected] of cases) {
    assert.equal(await answer({ instances: 3, applied: 3 - pending.length, pending, lastSeen }), expected);
  }
});

test('while the store is away a change is partial, because it is unknown which process has it', async () => {
  assert.match(await answer(undefined), /^partial: DATABASE is on; who has applied it is not known/);
});
