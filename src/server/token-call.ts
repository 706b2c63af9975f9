import type { AuditDraft } from '../audit/types.ts';
import type { Principal } from '../auth/principal.ts';
import type { TokenCall, TokenEvent } from '../auth/tokens/call.ts';
import { badRequest, withOAuthError } from '../auth/tokens/refusals.ts';
import { isRdcpError, RdcpError } from '../errors.ts';
import type { Addressing } from '../tenancy/address.ts';
import { clientAddress } from './client-address.ts';
import { clientCertificateOf } from './client-certificate.ts';
import { type Context, identityOf, required, sourceOf } from './context.ts';
import { count } from './middleware/rate-limit.ts';
import { addressKey, type RateLimiter } from './rate-limit.ts';

export interface TokenCallOptions {
  /** Writes an entry of the trail, and resolves when it is kept. */
  readonly record: (draft: AuditDraft) => Promise<void>;
  readonly addressing: Addressing;
  /** Counts what an address sends without a valid credential. */
  readonly anonymous: RateLimiter;
  /** What a client goes through once it is known who it is: its rate limit, its tenant. */
  readonly identified: readonly ((ctx: Context) => void)[];
}

/** Runs an endpoint of tokens, whose credentials are in the body. */
export type TokenCalls = <T>(ctx: Context, run: (call: TokenCall) => Promise<T>) => Promise<T>;

export function createTokenCalls({ record, addressing, anonymous, identified }: TokenCallOptions): TokenCalls {
  return async (ctx, run) => {
    try {
      return await run({
        form: required(ctx, 'form'),
        authorization: authorizationOf(ctx),
        clientCertificate: clientCertificateOf(ctx.req),
        identified: (principal) => {
          ctx.state.principal = principal;
          try {
            for (const step of identified) step(ctx);
          } catch (error) {
            throw withOAuthError(error, 'invalid_request');
          }
        },
        note: (event) => note(ctx, event),
      });
    } catch (error) {
      // As with a credential in a header: wrong ones are counted by where they come from.
      if (ctx.state.principal === undefined && isRdcpError(error) && error.status < 500) {
        count(ctx, anonymous, addressKey(clientAddress(ctx.req)));
      }
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
