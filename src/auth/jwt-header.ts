import type { JWSHeaderParameters } from 'jose';
import { loadJose } from './jose.ts';

/** Three parts of base64url without padding. An encrypted token has five, an unsigned one an empty last part. */
const COMPACT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
/** Visible ASCII: a key id is compared and never used as a path, a query or a part of one. */
const KEY_ID = /^[\x21-\x7e]{1,256}$/;
/** RFC 9068, section 2.1, and RFC 7519, section 5.1; compared without case, `application/` left out. */
const TYPES = ['jwt', 'at+jwt'];
/**
 * Parameters that bring a key along or point to one (RFC 7515, sections 4.1.2 to 4.1.6), that change how the token is to
 * be read (`crit`, RFC 7797's `b64`, a nested token's `cty`), or that belong to encryption. None has a place in an access
 * token of a known issuer.
 */
const REFUSED = ['jku', 'jwk', 'x5u', 'x5c', 'crit', 'b64', 'cty', 'enc', 'zip'];

/**
 * The header of a token whose form is that of an access token. Its signature is still to be verified.
 * @throws {Error} of some kind for anything else
 */
export async function readHeader(token: string): Promise<JWSHeaderParameters> {
  if (!COMPACT.test(token)) throw new Error('not a signed token in compact form');
  const { decodeProtectedHeader } = await loadJose();
  const header = decodeProtectedHeader(token);
  const refused = REFUSED.find((name) => Object.hasOwn(header, name));
  if (refused !== undefined) throw new Error(`the header holds ${refused}`);
  if (header.kid !== undefined && !(typeof header.kid === 'string' && KEY_ID.test(header.kid))) {
    throw new Error('the key id is malformed');
  }
  if (header.typ !== undefined && !isAccessTokenType(header.typ)) throw new Error('not the type of an access token');
  return header;
}

function isAccessTokenType(typ: unknown): boolean {
  return typeof typ === 'string' && TYPES.includes(typ.toLowerCase().replace(/^application\//, ''));
}
