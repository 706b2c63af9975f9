import type { AuditDraft } from '../audit/types.ts';
import type { Principal } from '../auth/principal.ts';
import type { TokenCall, TokenEvent } from '../auth/tokens/call.ts';
import { badRequest, withOAuthError } from '../auth/tokens/refusals.ts';
import { RdcpError } from '../errors.ts';
import type { Addressing } from '../tenancy/address.ts';
import { clientCertificateOf } from './middleware/access.ts';
import { count, countRefusal, type RateLimiter, senderOf } from './rate-limit.ts';
import { type Context, identityOf, required, type Step, sourceOf } from './steps.ts';

export interface TokenCallOptions {
  /** Writes an audit entry, and resolves when it is stored. */
  readonly record: (draft: AuditDraft) => Promise<void>;
  readonly addressing: Addressing;
  /** Counts requests without a valid credential, by address. */
  readonly anonymous: RateLimiter;
  /** Counts requests of an authenticated client. */
  readonly limit: (ctx: Context) => void;
  /** Determines the client's tenant. */
  readonly tenancy: (ctx: Context) => void;
  /** Reads the form. */
  readonly form: Step;
}

/**
 * Runs a token endpoint, whose credentials are in the body. As with a credential in a header, each is verified first: a
 * valid one counts against its identity, anything else against the address.
 */
export type TokenCalls = <T>(ctx: Context, run: (call: TokenCall) => Promise<T>) => Promise<T>;

export function createTokenCalls({
  record,
  addressing,
  anonymous,
  limit,
  tenancy,
  form,
}: TokenCallOptions): TokenCalls {
  return async (ctx, run) => {
    const sender = senderOf(ctx.req, anonymous);
    const identify = (principal: Principal, ...steps: readonly ((ctx: Context) => void)[]) => {
      ctx.state.principal = principal;
      try {
        for (const step of steps) step(ctx);
      } catch (error) {
        throw withOAuthError(error, 'invalid_request');
      }
    };
    const unidentified = () => count(ctx, anonymous, sender.address);
    try {
      await form(ctx);
      return await run({
        form: required(ctx, 'form'),
        authorization: authorizationOf(ctx),
        clientCertificate: clientCertificateOf(ctx.req),
        sender,
        identified: (principal) => identify(principal, limit, tenancy),
        revoking: (principal) => identify(principal, tenancy),
        unidentified,
        note: (event) => note(ctx, event),
      });
    } catch (error) {
      countRefusal(ctx, anonymous, error);
      throw error;
    }
  };

  async function note(ctx: Context, { action, outcome, principal, reason }: TokenEvent): Promise<void> {
    try {
      await record({
        action,
        categories: [],
        changes: [],
        outcome,
        identity: identityOf(principal),
        ...tenantOf(principal),
        requestId: ctx.state.requestId,
        reason,
        source: sourceOf(ctx.req),
        ...(outcome === 'denied' && { error: 'RDCP_AUTH_FAILED' }),
      });
    } catch (cause) {
      throw new RdcpError('RDCP_AUDIT_WRITE_FAILED', 'The audit trail cannot be written now', { cause });
    }
  }

  function tenantOf(principal: Principal): Pick<AuditDraft, 'tenant'> {
    const { tenantId } = addressing.own(principal);
    return tenantId === undefined ? {} : { tenant: { id: tenantId } };
  }
}

function authorizationOf({ req }: Context): string | undefined {
  const [value, ...more] = req.headersDistinct.authorization ?? [];
  if (more.length > 0) throw badRequest('invalid_request', 'Authorization was sent more than once');
  return value;
}
