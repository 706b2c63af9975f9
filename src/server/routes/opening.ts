import type { Clock } from '../../clock.ts';
import { PROTOCOL } from '../../protocol/constants.ts';
import type { TenantContext } from '../../protocol/messages.ts';
import { timestamp } from '../../protocol/time.ts';
import type { Context } from '../context.ts';

/** What every answer begins with; in multi-tenant mode that includes the tenant. */
export function opening(ctx: Context, clock: Pick<Clock, 'now'>) {
  const tenant: TenantContext | undefined = ctx.state.tenancy?.tenant;
  return {
    protocol: PROTOCOL,
    timestamp: timestamp(clock.now()),
    ...(tenant !== undefined && { tenant }),
  } as const;
}
