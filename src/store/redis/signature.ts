import { hash, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { decodeJson } from '../../wire/decode.ts';

// A Redis user may be allowed to publish on a channel but not to write keys. So the scripts sign what they publish with
// a secret stored among the keys: a user who can read it could write the state itself.

/**
 * Lua: `signed(secret, values)` returns the values as JSON text, after its signature. Two nested hashes, as in HMAC (RFC 2104),
 * prevent length extension. SHA-1 is the only hash that Redis has.
 */
export const SIGN = `
local function signed(secret, values)
  local text = cjson.encode(values)
  return redis.sha1hex(secret .. redis.sha1hex(secret .. text)) .. text
end
`;

const SIGNATURE = /^[0-9a-f]{40}/;

const values = z.array(z.unknown());

/** The values of a message signed by a script; `undefined` for any other message. */
export function openSigned(message: string, secret: string): unknown[] | undefined {
  const [signature] = SIGNATURE.exec(message) ?? [];
  if (secret === '' || signature === undefined) return undefined;
  const text = message.slice(signature.length);
  const expected = hash('sha1', secret + hash('sha1', secret + text));
  return timingSafeEqual(Buffer.from(expected), Buffer.from(signature)) ? decodeJson(values, text) : undefined;
}
