import { hasScope } from '../../auth/principal.ts';
import type { Clock } from '../../clock.ts';
import type { ResolvedConfig } from '../../config.ts';
import type { SessionResponse } from '../../protocol/messages.ts';
import { timestamp } from '../../protocol/time.ts';
import type { Isolation } from '../../tenancy/isolation.ts';
import { consoleSettings } from '../console-settings.ts';
import { type Handler, required } from '../steps.ts';
import { opening } from './opening.ts';

/** `GET /rdcp/v1/session`: the auth context of the credential. */
export function session({
  config,
  clock,
  isolation,
}: {
  config: ResolvedConfig;
  clock: Clock;
  isolation: Isolation;
}): Handler {
  const settings = consoleSettings(config);
  const { tail } = config;
  return (ctx) => {
    const principal = required(ctx, 'principal');
    const { method, userId, tenantId = isolation.contextOf(undefined)?.id, scopes, sessionId, expiresAt } = principal;
    const body: SessionResponse = {
      ...opening(ctx, clock),
      authenticated: true,
      method,
      userId,
      ...(tenantId !== undefined && { tenantId }),
      scopes,
      ...(sessionId !== undefined && { sessionId }),
      ...(expiresAt !== undefined && { expiresAt: timestamp(expiresAt) }),
      ...(settings !== undefined && {
        otelrdcp_console: {
          ...settings,
          ...(tail !== false && hasScope(principal, tail.scope) && { tail: { rate: tail.rate } }),
        },
      }),
    };
    return { body };
  };
}
