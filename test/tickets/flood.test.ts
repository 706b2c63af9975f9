import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { issueTicket } from '../../src/access/tickets/issue.ts';
import { TicketActivations } from '../../src/access/tickets/ticket-activations.ts';
import { about, forge, ISSUER, pairs, service, signer } from './tickets.ts';

const FORGED_A_SECOND = 10_000;

test('of 10,000 forged tickets a second 100 are checked, and valid ones that were seen before stay valid', () => {
  const { reader, refused, now, time } = service();
  const valid = issueTicket(about(now()), now(), signer()).value;
  assert.ok(reader.read(valid));
  const [header, claims] = valid.split('.');
  for (let second = 0; second < 3; second += 1) {
    for (let number = 0; number < FORGED_A_SECOND; number += 1) {
      const signature = Buffer.alloc(64).fill(`${second} ${number} `).toString('base64url');
      reader.read(`${header}.${claims}.${signature}`);
      if (number % 1000 === 0) assert.ok(reader.read(valid));
    }
    time.suspend(1000);
  }
  const count = (reason: string) => refused.filter((each) => each === reason).length;
  assert.equal(count('wrong_signature'), 300);
  assert.equal(count('too_many_forged'), 3 * FORGED_A_SECOND - 300);
  const next = issueTicket(about(now(), { id: 'activation-2' }), now(), signer()).value;
  assert.ok(reader.read(next), 'a second later a new one is verified');
});

test('a forged ticket is checked once', () => {
  const { reader, refused, now } = service();
  const { privateKey } = generateKeyPairSync('ed25519');
  const iat = Math.floor(now() / 1000);
  const header = { typ: 'rdcp-ticket+jwt', alg: 'EdDSA' };
  const claims = { iss: ISSUER, aud: 'rdcp', jti: 'a', categories: ['DATABASE'], iat, exp: iat + 60 };
  const forged = forge(header, claims, 'EdDSA', privateKey);
  // More often than wrong signatures are checked in a second.
  for (let time = 0; time < 200; time += 1) reader.read(forged);
  assert.deepEqual([...new Set(refused)], ['wrong_signature']);
  assert.ok(reader.read(forge(header, claims, 'EdDSA', pairs.EdDSA.privateKey)), 'others are checked still');
});

test('more valid tickets than are remembered are verified again', () => {
  const { reader, refused, now } = service();
  const tickets = Array.from({ length: 1100 }, (_, at) => issueTicket(about(now(), { id: `a${at}` }), now(), signer()));
  for (const round of [1, 2]) {
    for (const { value } of tickets) assert.ok(reader.read(value), `round ${round}`);
  }
  assert.deepEqual(refused, []);
});

test('a hundred tickets take all places until they end, and leave nothing behind for those that come then', async () => {
  const { reader, refused, now, time } = service();
  const category = { index: 0, name: 'DATABASE', description: '', defaultEnabled: false };
  const on = new Set<object>();
  const activations = new TicketActivations({
    reader,
    categories: () => [category, { ...category, name: 'CACHE' }],
    activate: (...part) => {
      on.add(part);
      return () => assert.ok(on.delete(part), 'ended once');
    },
    clock: time.clock,
    delay: time.delay,
    refused: (reason) => refused.push(reason),
  });
  const take = (id: string, minutes: number) =>
    activations.activate(issueTicket(about(now(), { id, expiresAt: now() + minutes * 60_000 }), now(), signer()).value);
  // In the last round places are free that tickets had which ended at different times.
  for (const round of [1, 2, 3]) {
    for (let number = 0; number < 100; number += 1) take(`${round}-${number}`, number < 40 ? 1 : 10);
    assert.deepEqual([on.size, time.pending, refused], [100, 100, []], `round ${round}`);
    take(`${round}-late`, 10);
    assert.deepEqual([on.size, refused.splice(0)], [100, ['too_many']], `round ${round}`);
    await time.pass(60_000);
    assert.deepEqual([on.size, time.pending], [60, 60], `round ${round}, after a minute`);
    await time.pass(540_000);
    assert.deepEqual([on.size, time.pending], [0, 0], `round ${round}, after ten`);
  }
  take('last', 10);
  activations.close();
  assert.deepEqual([on.size, time.pending, refused], [0, 0, []]);
});
