import type { IncomingMessage } from 'node:http';
import type { Clock, Delay } from '../clock.ts';
import { type Condition, UNWATCHED } from '../conditions.ts';
import { failureCode, RdcpError } from '../errors.ts';
import type { Authenticate } from '../options.ts';
import { firstIssue } from '../protocol/issues.ts';
import type { CredentialRequest } from './authenticator.ts';
import type { Principal } from './principal.ts';
import { refusal } from './refusal.ts';
import { validationResultSchema } from './validation-result.ts';

export interface ApplicationAuthenticatorOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly delay: Delay;
  /** Holds from the third consecutive failure on: a single request may make the function fail. */
  readonly condition?: Condition;
  /** Called when the function fails or returns an invalid result. */
  readonly report: (error: RdcpError) => void;
}

const DEADLINE_MS = 5000;
/** Consecutive failures after which the condition begins. */
const FAILURES_TO_BEGIN = 3;

/**
 * Authenticates with the application's function. An invalid result is refused with 401; a function that throws or times out
 * causes 503.
 */
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
      report(
        new RdcpError('RDCP_SERVER_ERROR', `security.authenticate: ${field === '' ? 'the result' : field} ${problem}`),
      );
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
      const error = new RdcpError('RDCP_UNAVAILABLE', 'The credential cannot be verified at the moment', {
        headers: { 'Retry-After': '1' },
        cause,
      });
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

function principalOf(result: (typeof validationResultSchema)['_output']): Principal {
  const { method, userId, tenantId, scopes, sessionId, expiresAt, metadata } = result;
  return {
    method,
    userId,
    ...(metadata?.clientId !== undefined && { clientId: metadata.clientId }),
    ...(tenantId !== undefined && { tenantId }),
    scopes: [...new Set(scopes)],
    ...(sessionId !== undefined && { sessionId }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}
