import { type KeyObject, randomBytes } from 'node:crypto';
import type { ControlRequest } from '../../wire/control-request.ts';
import { REFUSALS } from '../../wire/refusals.ts';
import { type Algorithm, signatureOf } from '../jws.ts';
import { MAX_TICKET_LENGTH, MAX_TICKET_SECONDS, TICKET_PREFIX, TICKET_TYPE, type Ticket } from './ticket.ts';

export interface TicketSigner {
  readonly issuer: string;
  readonly audience: string | readonly string[];
  current(): { readonly key: KeyObject; readonly header: { readonly alg: string; readonly kid?: string } };
}

export interface IssuedTicket {
  /** A credential: a request that carries it has debug lines on. */
  readonly value: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** A JSON Web Signature in compact form, with the issuer and audience of the signer. */
export function signed(signer: TicketSigner, type: string, claims: object): string {
  const { key, header } = signer.current();
  const parts = [
    { ...header, typ: type },
    { iss: signer.issuer, aud: signer.audience, ...claims },
  ];
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  // The algorithms of `security.tokens` are among those of tickets.
  const signature = signatureOf(text, key, header.alg as Algorithm);
  return `${text}.${signature.toString('base64url')}`;
}

/** A signed one lasts an hour at most; another is known to the store. @throws {RdcpError} if it is too long for baggage */
export function issueTicket(about: Ticket, now: number, signer?: TicketSigner): IssuedTicket {
  if (signer === undefined) {
    return { value: TICKET_PREFIX + randomBytes(16).toString('base64url'), expiresAt: about.expiresAt };
  }
  const iat = Math.floor(now / 1000);
  const exp = Math.min(iat + MAX_TICKET_SECONDS, Math.floor(about.expiresAt / 1000));
  const value = signed(signer, TICKET_TYPE, {
    jti: about.id,
    categories: about.categories,
    tenant: about.tenantId,
    iat,
    exp,
  });
  if (value.length > MAX_TICKET_LENGTH) {
    throw REFUSALS.malformed('categories', 'are too many for one ticket');
  }
  return { value, expiresAt: exp * 1000 };
}

export const DOCUMENT_TYPE = 'rdcp-controls+jwt';
/** What a control of a document says beside its categories and its end. */
export const SIGNED_OPTIONS = [
  'reason',
  'otelrdcp_budget',
  'otelrdcp_target',
  'otelrdcp_filter',
  'otelrdcp_when',
  'otelrdcp_level',
] as const satisfies readonly (keyof NonNullable<ControlRequest['options']>)[];

export interface DocumentSource {
  readonly request: Pick<ControlRequest, 'options'>;
  readonly tenantId: string | undefined;
  readonly by: string | undefined;
}

export function issueDocument(
  { id, categories, expiresAt }: Pick<Ticket, 'id' | 'categories' | 'expiresAt'>,
  { request: { options = {} }, tenantId, by }: DocumentSource,
  now: number,
  signer: TicketSigner,
): string {
  const exp = Math.floor(expiresAt / 1000);
  const control = {
    categories,
    tenant: tenantId,
    options: Object.fromEntries(SIGNED_OPTIONS.map((name) => [name, options[name]])),
    exp,
  };
  const iat = Math.floor(now / 1000);
  return signed(signer, DOCUMENT_TYPE, { jti: id, sub: by, iat, exp, controls: [control] });
}
