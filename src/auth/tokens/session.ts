import { z } from 'zod';
import { SCOPES } from '../../protocol/constants.ts';

/** How many sessions may be made from one another. */
const MAX_DEPTH = 4;
const ID_BYTES = 16;

/**
 * A new session id: 128 random bits. One that was made from a token of another session continues that one's id, so that
 * whoever knows a session knows what it came from and ends with.
 */
export function newSessionId(parent: string | undefined, randomBytes: (size: number) => Uint8Array): string {
  const id = Buffer.from(randomBytes(ID_BYTES)).toString('base64url');
  return parent === undefined ? id : `${parent}.${id}`;
}

/** The session and those that it was made from. */
export function lineageOf(sessionId: string): string[] {
  const parts = sessionId.split('.');
  return parts.map((_, index) => parts.slice(0, index + 1).join('.'));
}

export function isTooDeep(sessionId: string): boolean {
  return lineageOf(sessionId).length >= MAX_DEPTH;
}

const sessionDataSchema = z.object({
  userId: z.string(),
  clientId: z.string().optional(),
  tenantId: z.string().optional(),
  scopes: z.array(z.enum(SCOPES)),
  keyId: z.string().optional(),
  certificateThumbprint: z.string().optional(),
  /** Tells refresh tokens that were issued for the session from made-up ones, base64url. */
  tagKey: z.string(),
});

/** What the store keeps for us with a session. */
export type SessionData = z.infer<typeof sessionDataSchema>;

export function encodeSession(data: SessionData): string {
  return JSON.stringify(data);
}

/** @throws for a record that {@link encodeSession} did not write */
export function decodeSession(json: string): SessionData {
  try {
    return sessionDataSchema.parse(JSON.parse(json));
  } catch {
    // Without the cause, which quotes the record.
    throw new Error('the record of a session cannot be read');
  }
}
