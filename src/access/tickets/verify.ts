import type { KeyObject } from 'node:crypto';
import { type ControlRequest, controlRequestSchema } from '../../wire/control-request.ts';
import { isCategoryName, isIdentifier, PRINTABLE_NAME } from '../../wire/names.ts';
import { fits, isAlgorithm, isSignedBy, type Json, readClaims, readHeader } from '../jws.ts';
import { CLOCK_TOLERANCE_SECONDS, isFor } from '../jwt-claims.ts';
import type { KeyHeader } from '../jwt-issuer.ts';
import { DOCUMENT_TYPE, SIGNED_OPTIONS } from './issue.ts';
import type { Ticket } from './ticket.ts';

/** Why a ticket was refused. Documented in docs/one-user-one-request.md. */
const TICKET_REFUSALS = [
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

export interface TicketIssuer {
  /** `undefined`: the audience is not checked. */
  readonly audience: readonly string[] | undefined;
  key(header: KeyHeader): KeyObject | undefined;
  close?(): void;
}

export interface TicketRules {
  readonly issuers: ReadonlyMap<string, TicketIssuer>;
  readonly allows: (category: string) => boolean;
  readonly maxDuration: number;
}

type UnverifiedToken = Exclude<ReturnType<typeof readToken>, string>;

/** Checks that it is a token of that type (`typ`) by one of the issuers, without its claims and its signature. */
export function readToken(value: string, type: string, { issuers }: TicketRules) {
  const header = readHeader(value);
  const claims = readClaims(value);
  if (header === undefined || claims === undefined) return 'malformed';
  // Base64url ignores bits after its last byte: a text with others would be the same token again.
  if (value.split('.').some((part) => Buffer.from(part, 'base64url').toString('base64url') !== part)) {
    return 'other_encoding';
  }
  if (header.typ !== type) return 'wrong_type';
  const { alg } = header;
  if (!isAlgorithm(alg)) return 'wrong_algorithm';
  const issuer = typeof claims.iss === 'string' ? issuers.get(claims.iss) : undefined;
  if (issuer === undefined) return 'unknown_issuer';
  const end = value.lastIndexOf('.');
  return {
    claims,
    issuer,
    /** Finds the key. @returns what checks the signature, which takes some 100 µs, or why that cannot be done */
    verifier: (): (() => boolean) | TicketRefusal => {
      const key = issuer.key(header);
      if (key === undefined) return 'unknown_key';
      if (!fits(key, alg)) return 'wrong_algorithm';
      return () => isSignedBy(key, alg, value.slice(0, end), Buffer.from(value.slice(end + 1), 'base64url'));
    },
  };
}

/** @returns why a token is not in force now, for this process, or has no end within the bound; `undefined` where it is */
function checkTimes(
  { claims: { iat, exp, aud }, issuer }: UnverifiedToken,
  { maxDuration }: TicketRules,
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

export function ticketOf(token: UnverifiedToken, rules: TicketRules, now: number): Ticket | TicketRefusal {
  const problem = checkTimes(token, rules, now);
  if (problem !== undefined) return problem;
  const { iss, jti, categories, tenant, exp } = token.claims;
  if (!isId(jti) || !isCategoryList(categories) || !(tenant === undefined || isId(tenant))) return 'malformed';
  const allowed = categories.filter(rules.allows);
  if (allowed.length === 0) return 'category_not_allowed';
  return {
    id: jti,
    issuer: String(iss),
    categories: allowed,
    ...(tenant !== undefined && { tenantId: tenant }),
    expiresAt: (exp as number) * 1000,
  };
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && isIdentifier(value);
}

function isCategoryList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string' && isCategoryName(name));
}

const MAX_CONTROLS = 16;

/** Why a document was refused. Documented in docs/jobs.md. */
export type DocumentRefusal = TicketRefusal | 'stale';

export interface DocumentControl {
  readonly categories: readonly string[];
  readonly options: Pick<NonNullable<ControlRequest['options']>, (typeof SIGNED_OPTIONS)[number]>;
  readonly tenantId?: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export interface ControlDocument {
  readonly id: string;
  readonly issuer: string;
  readonly by?: string;
  /** Seconds since the epoch. */
  readonly issuedAt: number;
  readonly controls: readonly DocumentControl[];
}

/** Verifies a document: its issuer, its audience, its times, its controls and, last, its signature. */
export function readDocument(text: string, rules: TicketRules, now: number): ControlDocument | DocumentRefusal {
  const token = readToken(text.trim(), DOCUMENT_TYPE, rules);
  if (typeof token === 'string') return token;
  const problem = checkTimes(token, rules, now);
  if (problem !== undefined) return problem;
  const document = documentOf(token.claims, rules, now);
  if (typeof document === 'string') return document;
  const isSigned = token.verifier();
  if (typeof isSigned === 'string') return isSigned;
  return isSigned() ? document : 'wrong_signature';
}

function documentOf(claims: Json, rules: TicketRules, now: number): ControlDocument | DocumentRefusal {
  const { iss, jti, sub, iat, exp, controls } = claims;
  if (!isId(jti)) return 'malformed';
  if (sub !== undefined && !(typeof sub === 'string' && PRINTABLE_NAME.test(sub))) return 'malformed';
  if (!Array.isArray(controls) || controls.length === 0 || controls.length > MAX_CONTROLS) return 'malformed';
  const found: DocumentControl[] = [];
  for (const each of controls) {
    const control = controlOf(each);
    // Every control has an end of its own, which is no later than that of the document.
    if (control === undefined || control.expiresAt > (exp as number) * 1000) return 'malformed';
    const categories = control.categories.filter(rules.allows);
    if (categories.length > 0 && control.expiresAt > now) found.push({ ...control, categories });
  }
  if (found.length === 0) return 'category_not_allowed';
  return {
    id: jti,
    issuer: String(iss),
    ...(sub !== undefined && { by: sub }),
    issuedAt: iat as number,
    controls: found,
  };
}

/** What is not known here is refused: it may be what limits the control. */
function controlOf(value: unknown): DocumentControl | undefined {
  const { categories, options = {}, tenant, exp, ...rest } = Object(value) as Json;
  if (!Number.isSafeInteger(exp) || Object.keys(rest).length > 0) return undefined;
  if (tenant !== undefined && !isId(tenant)) return undefined;
  const isKnown = (name: string) => SIGNED_OPTIONS.some((known) => known === name);
  if (!Object.keys(Object(options)).every(isKnown)) return undefined;
  const request = { action: 'enable', categories, options: { ...Object(options), otelrdcp_sign: true } };
  const { data } = controlRequestSchema.safeParse(request, { jitless: true });
  if (data === undefined) return undefined;
  const { otelrdcp_sign: _, ...given } = data.options ?? {};
  return {
    categories: data.categories ?? [],
    options: given,
    ...(tenant !== undefined && { tenantId: tenant }),
    expiresAt: (exp as number) * 1000,
  };
}
