import type { JWSHeaderParameters } from 'jose';
import { loadJose } from './jose.ts';

/** Three base64url parts. An encrypted token has five; an unsigned one has an empty last part. */
const COMPACT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
/** Visible ASCII. A key id is only compared, never used in a path or query. */
const KEY_ID = /^[\x21-\x7e]{1,256}$/;
/** RFC 9068, section 2.1, and RFC 7519, section 5.1. Case-insensitive, without `application/`. */
const TYPES = ['jwt', 'at+jwt'];
/**
 * Parameters that contain or reference a key (RFC 7515, sections 4.1.2 to 4.1.6), change how the token is parsed (`crit`,
 * `b64` of RFC 7797, `cty` of a nested token), or belong to encryption. Access tokens of known issuers have none of them.
 */
const REFUSED = ['jku', 'jwk', 'x5u', 'x5c', 'crit', 'b64', 'cty', 'enc', 'zip'];

/**
 * Returns the header of an access token. The signature is not verified.
 * @throws {Error} if it is not the header of an access token
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
