import { DOCUMENT_TYPE, issueDocument } from '../../src/access/tickets/issue.ts';
import { AUDIENCE, forge, ISSUER, pairs, signer } from '../tickets/tickets.ts';

const seconds = (now: number) => Math.floor(now / 1000);

export const head = { typ: DOCUMENT_TYPE, alg: 'EdDSA', kid: 'k1' };

/** Claims of a valid document of one control, which ends in ten minutes. */
export function claims(now: number, changes: object = {}, control: object = {}): Record<string, unknown> {
  const iat = seconds(now);
  const exp = iat + 600;
  const controls = [{ categories: ['DATABASE'], options: { reason: 'slow import' }, exp, ...control }];
  return { iss: ISSUER, aud: AUDIENCE, sub: 'ops', jti: 'document-1', iat, exp, controls, ...changes };
}

/** Signs any header and claims, sensible or not. */
export const sign = (header: object, payload: object) => forge(header, payload, 'EdDSA', pairs.EdDSA.privateKey);

/** A document as the service signs it, for `seconds` from now. */
export function document(now: number, { id = 'document-1', category = 'DATABASE', lasts = 600 } = {}): string {
  const about = { id, categories: [category], expiresAt: now + lasts * 1000 };
  return issueDocument(
    about,
    { request: { options: { reason: 'slow import' } }, tenantId: undefined, by: 'ops' },
    now,
    signer(),
  );
}
