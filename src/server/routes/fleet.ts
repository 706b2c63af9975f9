import type { Clock } from '../../clock.ts';
import { RdcpError } from '../../errors.ts';
import type { Fleet, Member } from '../../fleet/types.ts';
import type { FleetMember, FleetResponse } from '../../protocol/messages.ts';
import { timestamp } from '../../protocol/time.ts';
import { type Handler, required } from '../steps.ts';
import { opening } from './opening.ts';

/**
 * `GET /rdcp/v1/fleet`: the processes that share the store. Hosts and process ids are for the owner: in multi-tenant
 * mode a tenant sees only their number, in its answers.
 */
export function fleetMembers({ fleet, clock }: { readonly fleet?: Fleet | undefined; readonly clock: Clock }): Handler {
  return async (ctx) => {
    const { method, tenantId } = required(ctx, 'principal');
    if (tenantId !== undefined && required(ctx, 'tenancy').tenant !== undefined) {
      throw new RdcpError('RDCP_FORBIDDEN', 'The list of processes is not for tenants', {
        method,
        details: { reason: 'tenant_mismatch' },
      });
    }
    if (fleet === undefined)
      throw new RdcpError('RDCP_NOT_FOUND', 'This server shares its state with no other process');
    const { revision, members } = await fleet.members();
    const now = clock.now();
    const body: FleetResponse = {
      ...opening(ctx, clock),
      revision,
      instances: members.map((member) => shown(member, now)),
    };
    return { body };
  };
}

export function shown({ startedAt, silentFor, ...rest }: Member, now: number): FleetMember {
  return { ...rest, startedAt: timestamp(startedAt), lastSeenAt: timestamp(now - silentFor) };
}
