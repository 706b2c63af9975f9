import { z } from 'zod';
import { AUTH_METHODS, SCOPES } from './constants.ts';
import { IDENTIFIER } from './names.ts';
import { parseTimestamp } from './time.ts';

const identifier = z.string().regex(IDENTIFIER);
/** A name that may go into log lines and consoles. */
const name = z.string().regex(/^[^\p{C}]{1,255}$/u);

/** The validation result of RDCP 1.0 (Auth context) for a credential that is valid. Other fields are dropped. */
export const validationResultSchema = z.object({
  valid: z.literal(true),
  /** Kind of the credential. `mtls` and `hybrid` need a client certificate on the connection. */
  method: z.enum(AUTH_METHODS),
  userId: name,
  /** The tenant that the credential belongs to; absent: none. */
  tenantId: identifier.optional(),
  scopes: z.array(z.enum(SCOPES)),
  /** For correlation in the audit trail. */
  sessionId: name.optional(),
  /** A Timestamp; absent where the access is not limited in time. */
  expiresAt: z
    .string()
    .transform((text, context) => {
      const epochMs = parseTimestamp(text);
      if (epochMs !== undefined) return epochMs;
      context.addIssue({ code: 'custom', message: 'must be a timestamp such as 2026-01-31T00:00:00.000Z' });
      return z.NEVER;
    })
    .optional(),
  metadata: z
    .object({ clientId: identifier.optional(), clientVersion: name.optional(), ipAddress: name.optional() })
    .optional(),
});

/** What an application's own authenticator answers: the specification's validation result. */
export type ValidationResult = z.input<typeof validationResultSchema> | { readonly valid: false };
