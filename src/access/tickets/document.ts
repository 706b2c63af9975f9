import { type ControlRequest, controlRequestSchema } from '../../wire/control-request.ts';
import { PRINTABLE_NAME } from '../../wire/names.ts';
import type { Json } from '../jws.ts';
import { DOCUMENT_TYPE, SIGNED_OPTIONS } from './issue.ts';
import { checkTimes, isId, readToken, type TicketRefusal, type TicketRules } from './verify.ts';

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
