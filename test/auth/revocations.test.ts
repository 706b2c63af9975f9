import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRevocations } from '../../src/access/tokens/own-tokens.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import type { TokenRecords } from '../../src/store/tokens.ts';
import { tokensOf } from '../support/on-records.ts';
import { virtualTime } from '../support/virtual-time.ts';
import { failsWith } from './records.ts';

function setUp(maxAgeMs?: number) {
  const time = virtualTime();
  const tokens = tokensOf(createMemoryStore());
  const state = { away: false, reads: 0 };
  const store: Pick<TokenRecords, 'revocations'> = {
    revocations: async (after, now) => {
      state.reads += 1;
      if (state.away) throw new Error('away');
      return tokens.revocations(after, now);
    },
  };
  const open = () =>
    createRevocations({
      store,
      clock: time.clock,
      schedule: time.schedule,
      ...(maxAgeMs !== undefined && { maxAgeMs }),
    });
  const revoke = (id: string, lifeMs = 900_000) => tokens.revoke(id, time.clock.now() + lifeMs, time.clock.now());
  return { time, open, revoke, state };
}

const unavailable = failsWith('RDCP_UNAVAILABLE');

test('what another process revokes is known half a second later, and asked for in memory', async () => {
  const { time, open, revoke, state } = setUp();
  const revocations = open();
  await revocations.isRevoked('a');
  await revoke('a');
  await time.pass(500);
  const { reads } = state;
  assert.equal(revocations.isRevoked('a'), true);
  assert.equal(revocations.isRevoked('b'), false);
  assert.equal(state.reads, reads);
});

test('a revocation is forgotten when its last token has expired', async () => {
  const { time, open, revoke } = setUp();
  await revoke('a', 2000);
  const revocations = open();
  assert.equal(await revocations.isRevoked('a'), true);
  await time.pass(2500);
  assert.equal(revocations.isRevoked('a'), false);
});

test('before the store has answered once, the answer is 503', async () => {
  const { time, open, state } = setUp();
  state.away = true;
  const revocations = open();
  await assert.rejects(async () => revocations.isRevoked('a'), unavailable);
  state.away = false;
  await time.pass(500);
  assert.equal(revocations.isRevoked('a'), false);
});

test('while the store is away what is known stays in force', async () => {
  const { time, open, revoke, state } = setUp();
  await revoke('a');
  const revocations = open();
  await revocations.isRevoked('a');
  state.away = true;
  await time.pass(600_000);
  assert.equal(revocations.isRevoked('a'), true);
  assert.equal(revocations.isRevoked('b'), false);
});

test('where the list must not be old, tokens are not accepted once it is', async () => {
  const { time, open, state } = setUp(10_000);
  const revocations = open();
  await revocations.isRevoked('a');
  state.away = true;
  await time.pass(10_000);
  assert.equal(revocations.isRevoked('a'), false);
  await time.pass(500);
  await assert.rejects(async () => revocations.isRevoked('a'), unavailable);
  state.away = false;
  assert.equal(await revocations.isRevoked('a'), false);
});

test('the store is asked no more once it is closed', async () => {
  const { time, open, state } = setUp();
  const revocations = open();
  await revocations.isRevoked('a');
  revocations.close();
  const { reads } = state;
  await time.pass(5000);
  assert.equal(state.reads, reads);
  assert.equal(time.pending, 0);
});
