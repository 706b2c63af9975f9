import type { KeyObject } from 'node:crypto';
import { COMPACT, REFUSED_PARAMETERS } from '../auth/jwt.ts';
import { CLOCK_TOLERANCE_SECONDS } from '../auth/jwt-claims.ts';
import { isCategoryName, isIdentifier } from '../protocol/names.ts';
import { fits, isSignedBy, isTicketAlgorithm, type TicketAlgorithm } from './signature.ts';
import { TICKET_TYPE, type Ticket } from './ticket.ts';

/** Why a ticket was refused. Documented in docs/one-user-one-request.md. */
export const TICKET_REFUSALS = [
  'too_long',
  'malformed',
  'wrong_type',
  'wrong_algorithm',
  'unknown_issuer',
  'expired',
  'not_yet_valid',
  'too_lasting',
  'wrong_audience',
  'category_not_allowed',
  'unknown_key',
  'too_many_forged',
  'wrong_signature',
] as const;
export type TicketRefusal = (typeof TICKET_REFUSALS)[number];

/** An issuer whose tickets are accepted. */
export interface TicketIssuer {
  /** `undefined`: the audience is not checked. */
  readonly audience: readonly string[] | undefined;
  /** Returns the loaded key of a ticket. Never fetches one. */
  key(algorithm: TicketAlgorithm, kid: string | undefined): KeyObject | undefined;
}

export interface TicketRules {
  readonly issuers: ReadonlyMap<string, TicketIssuer>;
  /** Whether tickets may switch the category. */
  readonly allows: (category: string) => boolean;
  /** Longest life of a ticket, in seconds. */
  readonly maxDuration: number;
}

/** A ticket whose claims are accepted and whose signature is not checked yet. */
export interface UnverifiedTicket {
  readonly ticket: Ticket;
  /** Checks the signature, which takes some 100 µs. */
  isSigned(): boolean;
}

type Json = Readonly<Record<string, unknown>>;

/** Checks everything of a signed ticket but its signature, in the order of what it costs. */
export function checkClaims(value: string, rules: TicketRules, now: number): UnverifiedTicket | TicketRefusal {
  if (!COMPACT.test(value)) return 'malformed';
  const [head = '', body = '', signature = ''] = value.split('.');
  const header = parsed(head);
  const claims = parsed(body);
  if (header === undefined || claims === undefined) return 'malformed';
  if (header.typ !== TICKET_TYPE) return 'wrong_type';
  // A key that the ticket brings or points to is never used.
  if (REFUSED_PARAMETERS.some((name) => Object.hasOwn(header, name))) return 'malformed';
  const { alg, kid } = header;
  if (!isTicketAlgorithm(alg)) return 'wrong_algorithm';
  if (kid !== undefined && typeof kid !== 'string') return 'malformed';
  const issuer = typeof claims.iss === 'string' ? rules.issuers.get(claims.iss) : undefined;
  if (issuer === undefined) return 'unknown_issuer';
  const ticket = ticketOf(claims, issuer, rules, now);
  if (typeof ticket === 'string') return ticket;
  const key = issuer.key(alg, kid);
  if (key === undefined) return 'unknown_key';
  if (!fits(key, alg)) return 'wrong_algorithm';
  const text = value.slice(0, head.length + 1 + body.length);
  return { ticket, isSigned: () => isSignedBy(key, alg, text, Buffer.from(signature, 'base64url')) };
}

function ticketOf(claims: Json, issuer: TicketIssuer, rules: TicketRules, now: number): Ticket | TicketRefusal {
  const { jti, categories, tenant, iat, exp, aud } = claims;
  if (!Number.isSafeInteger(iat) || !Number.isSafeInteger(exp)) return 'malformed';
  const [issued, ends] = [iat as number, exp as number];
  // No tolerance: what a ticket switches ends in time.
  if (ends * 1000 <= now) return 'expired';
  if (issued > now / 1000 + CLOCK_TOLERANCE_SECONDS) return 'not_yet_valid';
  if (ends - issued > rules.maxDuration) return 'too_lasting';
  if (issuer.audience !== undefined && !isFor(aud, issuer.audience)) return 'wrong_audience';
  if (typeof jti !== 'string' || !isIdentifier(jti) || !isCategoryList(categories)) return 'malformed';
  if (tenant !== undefined && !(typeof tenant === 'string' && isIdentifier(tenant))) return 'malformed';
  const allowed = categories.filter(rules.allows);
  if (allowed.length === 0) return 'category_not_allowed';
  return { id: jti, categories: allowed, ...(tenant !== undefined && { tenantId: tenant }), expiresAt: ends * 1000 };
}

function isFor(aud: unknown, accepted: readonly string[]): boolean {
  return [aud].flat().some((each) => typeof each === 'string' && accepted.includes(each));
}

function isCategoryList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string' && isCategoryName(name));
}

/** Returns the JSON object in a part of a ticket. */
function parsed(part: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}
