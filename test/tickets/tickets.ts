import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { type Algorithm, signatureOf } from '../../src/access/jws.ts';
import type { TicketSigner } from '../../src/access/tickets/issue.ts';
import { openTickets } from '../../src/access/tickets/reader.ts';
import type { Ticket } from '../../src/access/tickets/ticket.ts';
import { parseConfig } from '../../src/options/config.ts';
import type { TicketOptions } from '../../src/options/options.ts';
import { UNWATCHED } from '../../src/otel/report/conditions.ts';
import { virtualTime } from '../support/virtual-time.ts';

export const ISSUER = 'https://orders.example';
export const AUDIENCE = 'rdcp';

export const pairs = {
  EdDSA: generateKeyPairSync('ed25519'),
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  PS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
};

export const pemOf = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' }).toString();

export function signer(alg: keyof typeof pairs = 'EdDSA', kid = 'k1'): TicketSigner {
  return {
    issuer: ISSUER,
    audience: AUDIENCE,
    current: () => ({ key: pairs[alg].privateKey, header: { alg, kid } }),
  };
}

/** What a valid ticket says: of an activation that ends in ten minutes. */
export const about = (now: number, changes: Partial<Ticket> = {}): Ticket => ({
  id: 'activation-1',
  categories: ['DATABASE', 'HTTP_CLIENT'],
  expiresAt: now + 600_000,
  ...changes,
});

export const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Signs any header and claims, sensible or not. */
export function forge(header: object, claims: object, alg: Algorithm, key: KeyObject): string {
  const text = `${encoded(header)}.${encoded(claims)}`;
  return `${text}.${signatureOf(text, key, alg).toString('base64url')}`;
}

/** Signs with a text as the secret of HS256. */
export function hmacSigned(header: object, claims: object, secret: string): string {
  const text = `${encoded(header)}.${encoded(claims)}`;
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
}

/** A service that accepts tickets of the issuer, signed with Ed25519 unless it says otherwise. */
export function service(options: Partial<TicketOptions> = {}, ownIssuer?: string) {
  const time = virtualTime();
  const refused: string[] = [];
  const issuers = [{ issuer: ISSUER, audience: AUDIENCE, publicKey: pemOf(pairs.EdDSA.publicKey) }];
  const { tickets } = parseConfig({ security: { tickets: { issuers, ...options } } }).security;
  const accepted = openTickets(tickets!, {
    clock: time.clock,
    delay: time.delay,
    conditions: { watch: () => UNWATCHED },
    ownIssuer,
    refused: (reason) => refused.push(reason),
  });
  return {
    ...accepted,
    time,
    refused,
    now: time.clock.now,
  };
}
