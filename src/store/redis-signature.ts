import { createHash, timingSafeEqual } from 'node:crypto';

// A Redis user may be allowed to publish on a channel but not to write keys. So the scripts sign what they publish with
// a secret stored among the keys: a user who can read it could write the state itself.

/**
 * Lua: `signed(secret, values)` returns the values as a JSON array with a signature as the last item. Two nested
 * hashes, as in HMAC (RFC 2104), prevent length extension. SHA-1 is the only hash that Redis has.
 */
export const SIGN = `
local function signed(secret, values)
  local text = cjson.encode(values)
  return string.sub(text, 1, -2) .. ',"' .. redis.sha1hex(secret .. redis.sha1hex(secret .. text)) .. '"]'
end
`;

const SIGNED = /^(\[.*),"([0-9a-f]{40})"\]$/s;

/** The values of a message signed by a script; `undefined` for any other message. */
export function openSigned(message: string, secret: string): unknown[] | undefined {
  const [, opened, signature] = SIGNED.exec(message) ?? [];
  if (secret === '' || opened === undefined || signature === undefined) return undefined;
  const text = `${opened}]`;
  const expected = sha1(secret + sha1(secret + text));
  return timingSafeEqual(Buffer.from(expected), Buffer.from(signature)) ? JSON.parse(text) : undefined;
}

function sha1(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}
