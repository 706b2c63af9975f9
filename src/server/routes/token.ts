import type { TokenCall } from '../../auth/tokens/call.ts';
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
 * `POST /rdcp/v1/token`: issues a token for a credential (RFC 6749, RFC 8693), with the opening members of RDCP
 * answers.
 */
export function token({ tokens, calls, clock }: Sources): Handler {
  return async (ctx) => {
    const grant = await calls(ctx, (call: TokenCall) => tokens.grant(call));
    // RFC 6749, section 5.1, for HTTP/1.0 caches.
    return { body: { ...opening(ctx, clock), ...grant }, headers: { Pragma: 'no-cache' } };
  };
}
