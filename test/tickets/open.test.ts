import assert from 'node:assert/strict';
import { test } from 'node:test';
import { issueTicket } from '../../src/access/tickets/issue.ts';
import type { AcceptedTickets } from '../../src/access/tickets/reader.ts';
import type { TicketOptions } from '../../src/options/options.ts';
import { failsWith } from '../auth/records.ts';
import { createMeasuredTelemetry, samples } from '../metrics/scrape.ts';
import { clientOf, RECORDS } from '../support/server.ts';
import { startService } from '../support/service.ts';
import { about, ISSUER, pairs, pemOf, service, signer } from './tickets.ts';

const publicKey = pemOf(pairs.EdDSA.publicKey);
const issuer = { issuer: ISSUER, publicKey };

for (const [what, options, field] of [
  ['without a key', { issuers: [{ issuer: ISSUER }] }, 'security.tickets.issuers.0'],
  [
    'with both kinds of key',
    { issuers: [{ ...issuer, jwksUri: 'https://orders.example/keys' }] },
    'security.tickets.issuers.0',
  ],
  [
    'with a key set over plain HTTP',
    { issuers: [{ issuer: ISSUER, jwksUri: 'http://orders.example/keys' }] },
    'security.tickets.issuers.0.jwksUri',
  ],
  [
    'with a private key',
    {
      issuers: [
        { issuer: ISSUER, publicKey: pairs.EdDSA.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string },
      ],
    },
    'security.tickets.issuers.0.publicKey',
  ],
  ['twice', { issuers: [issuer, issuer] }, 'security.tickets.issuers.1.issuer'],
  ['with more than an hour', { issuers: [issuer], maxDuration: '2h' }, 'security.tickets.maxDuration'],
  ['with a pattern that is none', { issuers: [issuer], categories: ['sql'] }, 'security.tickets.categories.0'],
] as const satisfies (readonly [string, TicketOptions, string])[]) {
  test(`an issuer ${what} stops the start`, () => {
    assert.throws(
      () => service(options),
      (error) => {
        failsWith('RDCP_CONFIG_INVALID')(error);
        assert.deepEqual((error as { details?: object }).details, { field });
        return true;
      },
    );
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
