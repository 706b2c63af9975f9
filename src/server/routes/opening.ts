import type { Clock } from '../../clock.ts';
import { PROTOCOL } from '../../protocol/constants.ts';
import type { TenantContext } from '../../protocol/messages.ts';
import { type Timestamp, timestamp } from '../../protocol/time.ts';
import type { Context } from '../steps.ts';

/** The time as a Timestamp. */
export function timestampNow(clock: Pick<Clock, 'now'>): Timestamp {
  return timestamp(clock.now());
}

/** The first members of every answer, including the tenant in multi-tenant mode. */
export function opening(ctx: Context, clock: Pick<Clock, 'now'>) {
  const tenant: TenantContext | undefined = ctx.state.tenancy?.tenant;
  return {
    protocol: PROTOCOL,
    timestamp: timestampNow(clock),
    ...(tenant !== undefined && { tenant }),
  } as const;
}

/** The same as JSON members, for answers assembled from text. */
export function openingMembers(ctx: Context, clock: Pick<Clock, 'now'>): string {
  const tenant = ctx.state.tenancy?.tenant;
  const members = `"protocol":"${PROTOCOL}","timestamp":"${timestampNow(clock)}"`;
  return tenant === undefined ? members : `${members},"tenant":${JSON.stringify(tenant)}`;
}
