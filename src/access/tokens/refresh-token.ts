import { createHmac, hash, timingSafeEqual } from 'node:crypto';

const SECRET_BYTES = 32;
const TAG_BYTES = 16;
/** `rdcp_rt_<session>.<secret>.<tag>`. Secret scanners find leaked tokens by the prefix. */
const FORM = /^rdcp_rt_([A-Za-z0-9_.-]{1,255})\.([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{22})$/;

export interface RefreshToken {
  readonly sessionId: string;
  /** Base64url SHA-256 of the token, as kept in the store. */
  readonly hash: string;
  readonly secret: string;
  readonly tag: string;
}

/** A refresh token is 256 random bits and a MAC, which tells a replaced token (its reuse means theft) from a made-up one without storing it. */
export function newRefreshToken(
  sessionId: string,
  tagKey: string,
  randomBytes: (size: number) => Uint8Array,
): { readonly token: string; readonly hash: string } {
  const secret = Buffer.from(randomBytes(SECRET_BYTES)).toString('base64url');
  const token = `rdcp_rt_${sessionId}.${secret}.${tagOf(secret, tagKey)}`;
  return { token, hash: hashOf(token) };
}

export function parseRefreshToken(text: string): RefreshToken | undefined {
  const [, sessionId, secret, tag] = FORM.exec(text) ?? [];
  if (sessionId === undefined || secret === undefined || tag === undefined) return undefined;
  return { sessionId, hash: hashOf(text), secret, tag };
}

/** Whether a token was ever issued for the session with this key. */
export function wasIssued({ secret, tag }: RefreshToken, tagKey: string): boolean {
  return timingSafeEqual(Buffer.from(tag), Buffer.from(tagOf(secret, tagKey)));
}

function tagOf(secret: string, tagKey: string): string {
  const mac = createHmac('sha256', Buffer.from(tagKey, 'base64url')).update(secret).digest();
  return mac.subarray(0, TAG_BYTES).toString('base64url');
}

function hashOf(token: string): string {
  return hash('sha256', token, 'base64url');
}
