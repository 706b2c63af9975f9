import type { TokenService } from '../../auth/tokens/service.ts';
import type { Clock } from '../../clock.ts';
import type { Handler } from '../steps.ts';
import { opening } from './opening.ts';

/** `GET /rdcp/v1/jwks`: the public keys for verifying tokens of this server (RFC 7517). */
export function jwks(publishedKeys: NonNullable<TokenService['publishedKeys']>, clock: Clock): Handler {
  return (ctx) => ({ body: { ...opening(ctx, clock), keys: publishedKeys() } });
}
