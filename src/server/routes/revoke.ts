import type { TokenService } from '../../auth/tokens/service.ts';
import type { Clock } from '../../clock.ts';
import type { Handler } from '../steps.ts';
import type { TokenCalls } from '../token-call.ts';
import { opening } from './opening.ts';

interface Sources {
  readonly tokens: TokenService;
  readonly calls: TokenCalls;
  readonly clock: Clock;
}

/**
 * `POST /rdcp/v1/token/revoke`: ends the session of a token (RFC 7009). The answer does not reveal whether there was
 * one.
 */
export function revoke({ tokens, calls, clock }: Sources): Handler {
  return async (ctx) => {
    await calls(ctx, (call) => tokens.revoke(call));
    return { body: opening(ctx, clock) };
  };
}
