import { z } from 'zod';
import { AUTH_METHODS, SCOPES } from '../protocol/constants.ts';
import type { ReadonlyArrays, Shape } from '../protocol/documented.ts';
import { IDENTIFIER, PRINTABLE_NAME } from '../protocol/names.ts';
import { parseTimestamp } from '../protocol/time.ts';
import type { ValidationMetadata, ValidCredential } from '../protocol/validation-result.ts';

const identifier = z.string().regex(IDENTIFIER);
const name = z.string().regex(PRINTABLE_NAME);

const metadata = z.object({
  clientId: identifier.optional(),
  clientVersion: name.optional(),
  ipAddress: name.optional(),
} satisfies Shape<ValidationMetadata>);

export const validationResultSchema = z.object({
  valid: z.literal(true),
  method: z.enum(AUTH_METHODS),
  userId: name,
  tenantId: identifier.optional(),
  scopes: z.array(z.enum(SCOPES)),
  sessionId: name.optional(),
  expiresAt: z
    .string()
    .transform((text, context) => {
      const epochMs = parseTimestamp(text);
      if (epochMs !== undefined) return epochMs;
      context.addIssue({ code: 'custom', message: 'must be a timestamp such as 2026-01-31T00:00:00.000Z' });
      return z.NEVER;
    })
    .optional(),
  metadata: metadata.optional(),
} satisfies Shape<ValidCredential>);

({}) as ValidCredential satisfies ReadonlyArrays<z.input<typeof validationResultSchema>>;
