import { z } from 'zod';
import { allowSchema } from '../../wire/allow.ts';
import { SCOPES } from '../../wire/constants.ts';
import type { ReadonlyArrays } from '../../wire/documented.ts';

const MAX_DEPTH = 4;
const ID_BYTES = 16;

/** Returns a new session id: 128 random bits, after the id of the parent session. So an id contains those of its ancestors. */
export function newSessionId(parent: string | undefined, randomBytes: (size: number) => Uint8Array): string {
  const id = Buffer.from(randomBytes(ID_BYTES)).toString('base64url');
  return parent === undefined ? id : `${parent}.${id}`;
}

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
  tenants: z.array(z.string()).readonly().optional(),
  scopes: z.array(z.enum(SCOPES)),
  allow: allowSchema.optional(),
  approval: z.boolean().optional(),
  keyId: z.string().optional(),
  certificateThumbprint: z.string().optional(),
  /** MAC key of the session's refresh tokens, base64url. */
  tagKey: z.string(),
});

export type SessionData = ReadonlyArrays<z.infer<typeof sessionDataSchema>>;

export function encodeSession(data: SessionData): string {
  return JSON.stringify(data);
}

export function decodeSession(json: string): SessionData {
  try {
    return sessionDataSchema.parse(JSON.parse(json));
  } catch {
    // No cause, because it would quote the record.
    throw new Error('the record of a session cannot be read');
  }
}
