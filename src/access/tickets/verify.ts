import type { KeyObject } from 'node:crypto';
import { isCategoryName, isIdentifier } from '../../wire/names.ts';
import { type Json, readClaims, readHeader } from '../jws.ts';
import { CLOCK_TOLERANCE_SECONDS } from '../jwt-claims.ts';
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
  'other_encoding',
  'too_many',
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

/** A JSON Web Signature of a known issuer. */
export interface UnverifiedToken {
  readonly claims: Json;
  readonly issuer: TicketIssuer;
  /** Finds the key. @returns what checks the signature, or why that cannot be done */
  verifier(): (() => boolean) | TicketRefusal;
}

/** Checks everything of a signed ticket but its signature, in the order of what it costs. */
export function checkClaims(value: string, rules: TicketRules, now: number): UnverifiedTicket | TicketRefusal {
  const token = checkHeader(value, TICKET_TYPE, rules.issuers);
  if (typeof token === 'string') return token;
  const ticket = ticketOf(token.claims, token.issuer, rules, now);
  if (typeof ticket === 'string') return ticket;
  const isSigned = token.verifier();
  return typeof isSigned === 'string' ? isSigned : { ticket, isSigned };
}

/** Checks that it is a token of that type (`typ`) by one of the issuers, without its claims and its signature. */
export function checkHeader(
  value: string,
  type: string,
  issuers: TicketRules['issuers'],
): UnverifiedToken | TicketRefusal {
  const header = readHeader(value);
  const claims = readClaims(value);
  if (header === undefined || claims === undefined) return 'malformed';
  // Base64url ignores bits after its last byte: a text with others would be the same token again.
  if (value.split('.').some((part) => Buffer.from(part, 'base64url').toString('base64url') !== part)) {
    return 'other_encoding';
  }
  if (header.typ !== type) return 'wrong_type';
  const { alg, kid } = header;
  if (!isTicketAlgorithm(alg)) return 'wrong_algorithm';
  const issuer = typeof claims.iss === 'string' ? issuers.get(claims.iss) : undefined;
  if (issuer === undefined) return 'unknown_issuer';
  const end = value.lastIndexOf('.');
  const text = value.slice(0, end);
  return {
    claims,
    issuer,
    verifier: () => {
      const key = issuer.key(alg, kid);
      if (key === undefined) return 'unknown_key';
      if (!fits(key, alg)) return 'wrong_algorithm';
      return () => isSignedBy(key, alg, text, Buffer.from(value.slice(end + 1), 'base64url'));
    },
  };
}

/** @returns why a token is not in force now, for this process, or has no end within the bound; `undefined` where it is */
export function checkTimes(
  { iat, exp, aud }: Json,
  issuer: TicketIssuer,
  maxDuration: number,
  now: number,
): TicketRefusal | undefined {
  if (!Number.isSafeInteger(iat) || !Number.isSafeInteger(exp)) return 'malformed';
  const [issued, ends] = [iat as number, exp as number];
  // No tolerance: what a ticket switches ends in time.
  if (ends * 1000 <= now) return 'expired';
  if (issued > now / 1000 + CLOCK_TOLERANCE_SECONDS) return 'not_yet_valid';
  if (ends - issued > maxDuration) return 'too_lasting';
  if (issuer.audience !== undefined && !isFor(aud, issuer.audience)) return 'wrong_audience';
  return undefined;
}

function ticketOf(claims: Json, issuer: TicketIssuer, rules: TicketRules, now: number): Ticket | TicketRefusal {
  const problem = checkTimes(claims, issuer, rules.maxDuration, now);
  if (problem !== undefined) return problem;
  const { iss, jti, categories, tenant, exp } = claims;
  if (typeof jti !== 'string' || !isIdentifier(jti) || !isCategoryList(categories)) return 'malformed';
  if (tenant !== undefined && !(typeof tenant === 'string' && isIdentifier(tenant))) return 'malformed';
  const allowed = categories.filter(rules.allows);
  if (allowed.length === 0) return 'category_not_allowed';
  const expiresAt = (exp as number) * 1000;
  return {
    id: jti,
    issuer: String(iss),
    categories: allowed,
    ...(tenant !== undefined && { tenantId: tenant }),
    expiresAt,
  };
}

function isFor(aud: unknown, accepted: readonly string[]): boolean {
  return [aud].flat().some((each) => typeof each === 'string' && accepted.includes(each));
}

function isCategoryList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string' && isCategoryName(name));
}
