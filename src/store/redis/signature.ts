import { createHash, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { decodeJson } from '../../protocol/decode.ts';

// A Redis user may be allowed to publish on a channel but not to write keys. So the scripts sign what they publish with
// a secret stored among the keys: a user who can read it could write the state itself.

/**
 * Lua: `signed(secret, values)` returns the values as JSON text and its signature, as a JSON array of two. Two nested
 * hashes, as in HMAC (RFC 2104), prevent length extension. SHA-1 is the only hash that Redis has.
 */
export const SIGN = `
local function signed(secret, values)
  local text = cjson.encode(values)
  return cjson.encode({ text, redis.sha1hex(secret .. redis.sha1hex(secret .. text)) })
end
`;

const values = z.array(z.unknown());
const signed = z.tuple([z.string(), z.string().regex(/^[0-9a-f]{40}$/)]);

/** The values of a message signed by a script; `undefined` for any other message. */
export function openSigned(message: string, secret: string): unknown[] | undefined {
  const [text, signature] = decodeJson(signed, message) ?? [];
  if (secret === '' || text === undefined || signature === undefined) return undefined;
  const expected = sha1(secret + sha1(secret + text));
  return timingSafeEqual(Buffer.from(expected), Buffer.from(signature)) ? decodeJson(values, text) : undefined;
}

function sha1(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}
