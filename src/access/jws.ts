import type { JWSHeaderParameters } from 'jose';
import { isObject, parsedJson } from '../wire/json-text.ts';

export type Json = Readonly<Record<string, unknown>>;

/** Three base64url parts. An encrypted token has five; an unsigned one has an empty last part. */
const COMPACT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
/** Visible ASCII. A key id is only compared, never used in a path or query. */
const KEY_ID = /^[\x21-\x7e]{1,256}$/;
/**
 * Parameters that contain or reference a key (RFC 7515, sections 4.1.2 to 4.1.6), change how the token is parsed (`crit`,
 * `b64` of RFC 7797, `cty` of a nested token), or belong to encryption. Tokens of known issuers have none of them.
 */
const REFUSED_PARAMETERS = ['jku', 'jwk', 'x5u', 'x5c', 'crit', 'b64', 'cty', 'enc', 'zip'];

/** Returns the header of a JSON Web Signature in compact form, unverified; `undefined` for one that is never accepted. */
export function readHeader(token: string): JWSHeaderParameters | undefined {
  const header = COMPACT.test(token) ? jsonOf(token.split('.')[0]) : undefined;
  if (header === undefined || REFUSED_PARAMETERS.some((name) => Object.hasOwn(header, name))) return undefined;
  const { kid } = header;
  return kid === undefined || (typeof kid === 'string' && KEY_ID.test(kid)) ? header : undefined;
}

/** Returns the claims of a token of three parts, unverified, even if its header or its signature is not accepted. */
export function readClaims(token: string): Json | undefined {
  const parts = token.split('.');
  return parts.length === 3 ? jsonOf(parts[1]) : undefined;
}

function jsonOf(part = ''): Json | undefined {
  const value = parsedJson(Buffer.from(part, 'base64url').toString('utf8'));
  return isObject(value) ? value : undefined;
}
