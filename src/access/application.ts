import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { Authenticate } from '../options/options.ts';
import { type Condition, UNWATCHED } from '../otel/report/conditions.ts';
import { AUTH_METHODS, SCOPES } from '../wire/constants.ts';
import type { ReadonlyArrays, Shape } from '../wire/documented.ts';
import { failureCode, type RdcpError, unavailable } from '../wire/errors.ts';
import { firstIssue } from '../wire/issues.ts';
import { IDENTIFIER, PRINTABLE_NAME } from '../wire/names.ts';
import type { Clock, Delay } from '../wire/time/clock.ts';
import { parseTimestamp } from '../wire/time.ts';
import type { ValidationMetadata, ValidCredential } from '../wire/validation-result.ts';
import type { CredentialRequest } from './authenticator.ts';
import type { Principal } from './principal.ts';
import { refusal, wrongResult } from './refusal.ts';

const identifier = z.string().regex(IDENTIFIER);
const name = z.string().regex(PRINTABLE_NAME);

const metadata = z.object({
  clientId: identifier.optional(),
  clientVersion: name.optional(),
  ipAddress: name.optional(),
} satisfies Shape<ValidationMetadata>);

const validationResultSchema = z.object({
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

export interface ApplicationAuthenticatorOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly delay: Delay;
  /** Holds from the third consecutive failure on: a single request may make the function fail. */
  readonly condition?: Condition;
  readonly report: (error: RdcpError) => void;
}

const DEADLINE_MS = 5000;
const FAILURES_TO_BEGIN = 3;

/** Authenticates with the application's function. A wrong result is refused with 401; one that throws or is late causes 503. */
export function createApplicationAuthenticator(
  authenticate: Authenticate,
  { clock, delay, condition = UNWATCHED, report }: ApplicationAuthenticatorOptions,
) {
  let failures = 0;

  return async ({ message }: CredentialRequest): Promise<Principal | undefined> => {
    if (message === undefined) return undefined;
    const answer = await ask(message);
    if (answer === undefined || answer === null) return undefined;
    const result = validationResultSchema.safeParse(answer);
    if (result.success) {
      const { method, expiresAt = Number.POSITIVE_INFINITY } = result.data;
      if (expiresAt <= clock.now()) throw refusal(method, 'token_expired');
      return principalOf(result.data);
    }
    if (!isRefusal(answer)) {
      const { field, message: problem } = firstIssue(result.error);
      report(wrongResult(field === '' ? 'the result' : field, problem));
    }
    throw refusal('bearer');
  };

  async function ask(message: IncomingMessage): Promise<unknown> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const cancel = delay(DEADLINE_MS, () => reject(new Error(`no answer within ${DEADLINE_MS} ms`)));
    try {
      const answer = await Promise.race([authenticate(message), late]);
      failures = 0;
      condition.end();
      return answer;
    } catch (cause) {
      failures += 1;
      if (failures >= FAILURES_TO_BEGIN) {
        condition.begin(`security.authenticate throws or does not answer${failureCode(cause)}`);
      }
      const error = unavailable('The credential cannot be verified at the moment', cause, 1);
      report(error);
      throw error;
    } finally {
      cancel();
    }
  }
}

function isRefusal(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && Reflect.get(answer, 'valid') === false;
}

function principalOf({ valid: _, metadata, ...result }: z.output<typeof validationResultSchema>): Principal {
  const clientId = metadata?.clientId;
  return { ...result, scopes: [...new Set(result.scopes)], ...(clientId !== undefined && { clientId }) };
}
