import assert from 'node:assert/strict';
import type { Rotation, TokenRecords, TokenSession } from '../../../src/store/tokens.ts';
import { tokensOf } from '../../support/on-records.ts';
import { NOW } from './samples.ts';
import type { AddCase } from './suite.ts';

const HOUR = 3_600_000;
const UNTIL = NOW + 900_000;

function session(fields: Partial<TokenSession> = {}): TokenSession {
  return {
    id: 'session-1',
    current: 'hash-1',
    data: '{"user":"Ünïcode\\n🦊"}\n\u0000 "',
    expiresAt: NOW + HOUR,
    ...fields,
  };
}

function rotation(fields: Partial<Rotation> = {}): Rotation {
  return { id: 'session-1', expected: 'hash-1', next: 'hash-2', now: NOW, revokedUntil: UNTIL, ...fields };
}

async function revokedIds(from: TokenRecords, after = 0, now = NOW): Promise<string[]> {
  return (await from.revocations(after, now)).revoked.map(({ sessionId }) => sessionId).sort();
}

/** The part of the contract that is about the records of issued tokens. */
export function tokenRecordsContract(add: AddCase): void {
  const test = (name: string, run: (opened: { tokens: TokenRecords; open: () => Promise<TokenRecords> }) => unknown) =>
    add(name, ({ store, open }) => run({ tokens: tokensOf(store), open: async () => tokensOf(await open()) }));

  test('a session comes back as it was begun, in every handle, until it ends', async ({ tokens, open }) => {
    await tokens.begin(session(), NOW);
    const other = await open();
    assert.deepEqual({ ...(await other.find('session-1', NOW)) }, session());
    assert.deepEqual({ ...(await tokens.find('session-1', NOW + HOUR - 1)) }, session());
    assert.equal(await tokens.find('session-1', NOW + HOUR), undefined);
    assert.equal(await tokens.find('session-2', NOW), undefined);
  });

  test('a token is replaced by the next one, which is replaced in turn', async ({ tokens }) => {
    await tokens.begin(session(), NOW);
    assert.equal(await tokens.rotate(rotation()), 'rotated');
    assert.deepEqual({ ...(await tokens.find('session-1', NOW)) }, session({ current: 'hash-2' }));
    assert.equal(await tokens.rotate(rotation({ expected: 'hash-2', next: 'hash-3' })), 'rotated');
    assert.equal((await tokens.find('session-1', NOW))?.current, 'hash-3');
    assert.deepEqual(await revokedIds(tokens), []);
  });

  test('a token that was replaced before revokes its session, and no other', async ({ tokens }) => {
    await tokens.begin(session(), NOW);
    await tokens.begin(session({ id: 'session-2' }), NOW);
    await tokens.rotate(rotation());
    assert.equal(await tokens.rotate(rotation({ next: 'hash-x' })), 'reused');
    assert.equal(await tokens.find('session-1', NOW), undefined);
    assert.equal(await tokens.rotate(rotation({ expected: 'hash-2', next: 'hash-3' })), 'ended');
    assert.deepEqual(
      (await tokens.revocations(0, NOW)).revoked.map((each) => ({ ...each })),
      [{ sessionId: 'session-1', until: UNTIL }],
    );
    assert.equal((await tokens.find('session-2', NOW))?.current, 'hash-1');
  });

  test('a session that has ended or never was is not rotated, and nothing is revoked', async ({ tokens }) => {
    await tokens.begin(session(), NOW);
    assert.equal(await tokens.rotate(rotation({ now: NOW + HOUR })), 'ended');
    assert.equal(await tokens.rotate(rotation({ id: 'session-2' })), 'ended');
    assert.deepEqual(await revokedIds(tokens), []);
  });

  test('a revoked session is gone, and is revoked once', async ({ tokens }) => {
    await tokens.begin(session(), NOW);
    assert.equal(await tokens.revoke('session-1', UNTIL, NOW), true);
    assert.equal(await tokens.revoke('session-1', UNTIL + 1, NOW), false);
    assert.equal(await tokens.find('session-1', NOW), undefined);
    assert.equal(await tokens.rotate(rotation()), 'ended');
    assert.deepEqual(await revokedIds(tokens), ['session-1']);
  });

  test('a session without a refresh token can be revoked too', async ({ tokens }) => {
    assert.equal(await tokens.revoke('access-only', UNTIL, NOW), true);
    assert.deepEqual(await revokedIds(tokens), ['access-only']);
  });

  test('a reader that goes on from its position learns every revocation, of any handle', async ({ tokens, open }) => {
    const other = await open();
    const known = new Set<string>();
    let position = 0;
    for (let round = 0; round < 5; round += 1) {
      await (round % 2 === 0 ? tokens : other).revoke(`a-${round}`, UNTIL, NOW);
      await tokens.revoke(`b-${round}`, UNTIL, NOW);
      const news = await other.revocations(position, NOW);
      position = news.position;
      for (const { sessionId } of news.revoked) known.add(sessionId);
      assert.equal(known.size, 2 * (round + 1));
    }
    assert.deepEqual([...known].sort(), await revokedIds(tokens));
  });

  test('a revocation is over when the last access token has expired', async ({ tokens }) => {
    await tokens.revoke('short', NOW + 1000, NOW);
    await tokens.revoke('long', NOW + 5000, NOW);
    assert.deepEqual(await revokedIds(tokens, 0, NOW + 999), ['long', 'short']);
    assert.deepEqual(await revokedIds(tokens, 0, NOW + 1000), ['long']);
    const { position } = await tokens.revocations(0, NOW);
    await tokens.revoke('later', NOW + 9000, NOW + 6000);
    assert.ok((await revokedIds(tokens, position, NOW + 6000)).includes('later'));
    assert.deepEqual(await revokedIds(tokens, 0, NOW + 6000), ['later']);
  });
}
