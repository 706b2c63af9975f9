import type { TokenService } from '../../auth/tokens/service.ts';
import type { Handler } from '../steps.ts';
import type { TokenCalls } from '../token-call.ts';

/** `POST /rdcp/v1/token/introspect`: the state of a token of this server (RFC 7662). */
export function introspect({ tokens, calls }: { readonly tokens: TokenService; readonly calls: TokenCalls }): Handler {
  return async (ctx) => ({ body: await calls(ctx, (call) => tokens.introspect(call)) });
}
