import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { DOCUMENT_TYPE, issueDocument, issueTicket } from '../../src/access/tickets/issue.ts';
import { TICKET_TYPE } from '../../src/access/tickets/ticket.ts';
import { type ControlDocument, readDocument } from '../../src/access/tickets/verify.ts';
import { documentControls } from '../../src/control/pull/follower.ts';
import { createIsolation } from '../../src/control/tenancy/isolation.ts';
import fc from '../support/fast-check.ts';
import { about, pairs, pemOf, service, signer } from '../tickets/tickets.ts';
import { claims, document, head, sign } from './documents.ts';

const DAY = 24 * 3600;

function reader(options = {}) {
  const { rules, now, reader: tickets } = service(options);
  return { now, tickets, read: (text: string) => readDocument(text, { ...rules, maxDuration: DAY }, now()) };
}

for (const alg of ['EdDSA', 'ES256', 'RS256'] as const) {
  test(`a document signed with ${alg} says what is on, for whom, until when and by whom`, () => {
    const issuers = [{ issuer: signer().issuer, publicKey: pemOf(pairs[alg].publicKey) }];
    const { read, now } = reader({ issuers });
    const options = {
      reason: 'why',
      otelrdcp_budget: { calls: 5 },
      otelrdcp_target: { match: { 'user.id': '42' } },
      otelrdcp_filter: { text: 'query*' },
      otelrdcp_when: { failed: true as const },
      otelrdcp_level: 'info' as const,
    };
    const source = { request: { options: { ...options, duration: 600 } }, tenantId: 'acme', by: 'ops' };
    const text = issueDocument(about(now()), source, now(), signer(alg));
    const { categories, expiresAt, id } = about(now());
    assert.deepEqual(read(`${text}\n`), {
      id,
      issuer: signer().issuer,
      by: 'ops',
      issuedAt: Math.floor(now() / 1000),
      controls: [{ categories, options, tenantId: 'acme', expiresAt }],
    });
  });
}

test('controls that have ended, and categories that are not allowed here, are left out of a document', () => {
  const { read, now } = reader({ categories: ['DB_*'] });
  const iat = Math.floor(now() / 1000);
  const controls = [
    { categories: ['DB_A', 'HTTP'], exp: iat + 60 },
    { categories: ['DB_B'], exp: iat },
    { categories: ['HTTP'], exp: iat + 60 },
  ];
  const found = read(sign(head, claims(now(), { controls }))) as ControlDocument;
  assert.deepEqual(
    found.controls.map(({ categories }) => categories),
    [['DB_A']],
  );
});

describe('a document is refused', () => {
  const changed: readonly (readonly [
    what: string,
    reason: string,
    header: object,
    payload: object,
    control?: object,
  ])[] = [
    // What is read as of a ticket has its table there: issuer, algorithm, header, times, audience.
    ['that is a ticket', 'wrong_type', { typ: TICKET_TYPE }, {}],
    ['after its end', 'expired', {}, { iat: 0, exp: 600 }],
    ['without an id', 'malformed', {}, { jti: undefined }],
    ['by a user with a line break', 'malformed', {}, { sub: 'ops\nroot' }],
    ['without controls', 'malformed', {}, { controls: [] }],
    ['whose controls are no list', 'malformed', {}, { controls: { 0: {} } }],
    ['with more controls than 16', 'malformed', {}, { controls: Array(17).fill({ categories: ['A'], exp: 1 }) }],
    ['with a control without an end', 'malformed', {}, {}, { exp: undefined }],
    ['with a control that ends after it', 'malformed', {}, {}, { exp: 4_000_000_000 }],
    ['with a control that says its own duration', 'malformed', {}, {}, { options: { duration: '1h' } }],
    ['with a permanent control', 'malformed', {}, {}, { options: { temporary: false } }],
    [
      'with a control for the holder of a ticket',
      'malformed',
      {},
      {},
      { options: { otelrdcp_target: { request: true } } },
    ],
    ['with a level that quietens', 'malformed', {}, {}, { options: { otelrdcp_level: 'error' } }],
    ['with an option that is not known', 'malformed', {}, {}, { options: { onlyOnMondays: true } }],
    ['with a control with a member that is not known', 'malformed', {}, {}, { action: 'disable' }],
    ['with a category that is none', 'malformed', {}, {}, { categories: ['DATABASE', 'lower'] }],
    ['of a tenant that is none', 'malformed', {}, {}, { tenant: 'a b' }],
    [
      'with a header that holds credentials in its target',
      'malformed',
      {},
      {},
      { options: { otelrdcp_target: { match: { 'http.request.header.authorization': 'x*' } } } },
    ],
  ];
  for (const [what, reason, header, payload, control] of changed) {
    it(what, () => {
      const { read, now } = reader();
      assert.equal(read(sign({ ...head, ...header }, claims(now(), payload, control))), reason);
    });
  }

  it('by a key that is not there', () => {
    const issuers = [{ issuer: signer().issuer, jwksUri: 'https://keys.example/' }];
    const { read, now } = reader({ issuers });
    assert.equal(read(document(now())), 'unknown_key');
  });

  it('for none of the categories that are allowed here', () => {
    const { read, now } = reader({ categories: ['HTTP'] });
    assert.equal(read(document(now())), 'category_not_allowed');
  });

  it('that is a real ticket, and a ticket that is a real document', () => {
    const { read, tickets, now } = reader();
    assert.equal(read(issueTicket(about(now()), now(), signer()).value), 'wrong_type');
    assert.equal(tickets.read(document(now())), undefined);
    assert.notEqual(DOCUMENT_TYPE, TICKET_TYPE);
  });

  it('in which any character was changed', () => {
    const { read, now } = reader();
    const text = document(now());
    // The last character of a signature has four bits that mean nothing.
    const place = fc.integer({ min: 0, max: text.length - 2 });
    fc.assert(
      fc.property(place, fc.constantFrom(...'AZaz09-_.'), (at, character) => {
        fc.pre(text[at] !== character);
        assert.equal(typeof read(text.slice(0, at) + character + text.slice(at + 1)), 'string');
      }),
    );
  });
});

const CASES = [
  { asked: { callsPerSecond: 5000, calls: 10 }, configured: 500, made: { callsPerSecond: 500, calls: 10 } },
  { asked: { callsPerSecond: 50, bytes: 1000 }, configured: 500, made: { callsPerSecond: 50, bytes: 1000 } },
  { asked: { callsPerSecond: 5000 }, configured: undefined, made: { callsPerSecond: 5000 } },
  { asked: { calls: 10 }, configured: 500, made: { calls: 10 } },
] as const;

for (const { asked, configured, made } of CASES) {
  const what = `${JSON.stringify(asked)} where the service allows ${configured ?? 'any number of'} calls a second`;
  test(`each limit of a document is the smaller of the two: ${what}`, async () => {
    const requests: unknown[] = [];
    const begin = documentControls({
      plane: {
        control: async ({ options }) => {
          requests.push(options?.otelrdcp_budget);
          return { response: {} as never, replayed: false };
        },
      },
      check: async () => {},
      isolation: createIsolation(false),
      configuredRate: () => configured,
      maxDuration: 3600,
      clock: { now: () => 0 },
    });
    const controls = [{ categories: ['IMPORT'], options: { otelrdcp_budget: asked }, expiresAt: 60_000 }];
    await begin({ id: 'd', issuer: 'https://ops.example', issuedAt: 0, controls } as never, 0);
    assert.deepEqual(requests, [made]);
  });
}
