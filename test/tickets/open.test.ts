import assert from 'node:assert/strict';
import { test } from 'node:test';
import { issueTicket } from '../../src/access/tickets/issue.ts';
import type { AcceptedTickets } from '../../src/access/tickets/reader.ts';
import { createMeasuredTelemetry, samples } from '../metrics/scrape.ts';
import { clientOf, RECORDS } from '../support/server.ts';
import { startService } from '../support/service.ts';
import { about, ISSUER, pairs, pemOf, service, signer } from './tickets.ts';

const publicKey = pemOf(pairs.EdDSA.publicKey);
const privateKey = pairs.EdDSA.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const issuer = { issuer: ISSUER, publicKey };
const only = (more: object) => ({ issuers: [{ issuer: ISSUER, ...more }] });

for (const [what, options, field] of [
  ['without a key', only({}), 'issuers.0'],
  ['with both kinds of key', only({ publicKey, jwksUri: 'https://orders.example/keys' }), 'issuers.0'],
  ['with a key set over plain HTTP', only({ jwksUri: 'http://orders.example/keys' }), 'issuers.0.jwksUri'],
  ['with a private key', only({ publicKey: privateKey }), 'issuers.0.publicKey'],
  ['twice', { issuers: [issuer, issuer] }, 'issuers.1.issuer'],
  ['with more than an hour', { issuers: [issuer], maxDuration: '2h' }, 'maxDuration'],
  ['with a pattern that is none', { issuers: [issuer], categories: ['sql'] }, 'categories.0'],
] as const) {
  test(`an issuer ${what} stops the start`, () => {
    const details = { field: `security.tickets.${field}` };
    assert.throws(() => service(options), { code: 'RDCP_CONFIG_INVALID', details });
  });
}

test('refused tickets are counted by reason, and are one entry of the trail a minute', async (t) => {
  const { telemetry, scrape } = createMeasuredTelemetry();
  let tickets: AcceptedTickets | undefined;
  const ticketsOpened = (opened: AcceptedTickets) => {
    tickets = opened;
  };
  const security = { apiKeys: RECORDS, tickets: { issuers: [issuer] } };
  const client = clientOf(await startService(t, { security }, { telemetry, ticketsOpened }));
  const refusals = async () => (await client.audit({ outcome: 'denied' })).entries;
  const now = Date.now();
  const { value } = issueTicket(about(now), now, signer());
  assert.ok(tickets?.reader.read(value));
  for (const bad of [`${value}AAAA`, `${value}AAAA`, 'nonsense']) assert.equal(tickets?.reader.read(bad), undefined);
  const [entry, ...others] = await refusals();
  assert.deepEqual(others, []);
  const { action, outcome, reason, error, count, identity, source } = entry!;
  assert.deepEqual(
    [action, outcome, reason, error, count],
    ['authenticate', 'denied', 'invalid_ticket', 'RDCP_AUTH_FAILED', 3],
  );
  assert.deepEqual([identity, source], [{}, undefined]);
  tickets?.reader.read('nonsense');
  assert.equal((await refusals()).length, 1, 'the next entry is of the next minute');
  const counted = samples(await scrape(), 'rdcp_ticket_refused_total', 'rdcp_reason');
  assert.deepEqual(counted, { wrong_signature: 2, malformed: 2 });
});
