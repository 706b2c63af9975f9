import { isOfTenants, keepsRights, type Principal } from '../../access/principal.ts';
import { type PendingChange, shownWaiting } from '../../control/approvals.ts';
import { approvalRequestSchema } from '../../wire/control-request.ts';
import type { ApprovalsResponse } from '../../wire/messages.ts';
import { REFUSALS } from '../../wire/refusals.ts';
import { validBody } from '../middleware/body.ts';
import type { Uses } from '../parts.ts';
import { type Context, type Handler, identityOf, opening, required } from '../steps.ts';
import { acknowledged } from './control.ts';

/** `GET /rdcp/v1/approvals`: changes that wait for an approval, of the tenant that the request addresses, or all. */
export function approvals({ approvals: held, clock }: Uses<'approvals' | 'clock'>): Handler {
  return async (ctx) => {
    const waiting = (await held.waiting()).filter((each) => mayDecide(ctx, each));
    const body: ApprovalsResponse = { ...opening(ctx, clock), waiting: waiting.map(shownWaiting) };
    return { body };
  };
}

/** `POST /rdcp/v1/approve`: makes a change that waits, or declines it. */
export function approve({
  approvals: held,
  authenticator,
  plane,
  fleet,
  choosing,
}: Uses<'approvals' | 'authenticator' | 'plane' | 'fleet' | 'choosing'>): Handler {
  return async (ctx) => {
    const { id, decline } = validBody(ctx, approvalRequestSchema);
    const found = await held.find(id);
    if (found === undefined || !mayDecide(ctx, found)) throw REFUSALS.noChange(id);
    const principal = required(ctx, 'principal');
    if (decline) return { body: (await held.decline(found, identityOf(principal))).response };
    const asker = found.asker as Principal;
    if (!keepsRights(asker, await authenticator.current(asker), ['control'])) {
      throw REFUSALS.askerChanged();
    }
    const { categories } = found.request;
    if (fleet !== undefined && (categories === undefined || !plane.hasAll(categories))) await fleet.refresh(true);
    const outcome = await held.approve(found, { identity: identityOf(principal), allow: principal.allow }, plane);
    return { body: await acknowledged(outcome, fleet, choosing) };
  };
}

/** Whether the request addresses the tenant of the change; who may see all tenants decides about all. */
function mayDecide(ctx: Context, { maker }: PendingChange): boolean {
  const { tenantId, scope } = required(ctx, 'tenancy');
  if (tenantId === undefined) return !isOfTenants(required(ctx, 'principal'));
  return maker.scope.key === scope.key;
}
