import { hash } from 'node:crypto';
import { assertScope, identityKey, type Principal } from '../../auth/principal.ts';
import type { Clock } from '../../clock.ts';
import type { CommandContext, ControlPlane } from '../../control/types.ts';
import { isRdcpError } from '../../errors.ts';
import type { Fleet } from '../../fleet/types.ts';
import type { ControlInstruments } from '../../metrics/types.ts';
import { HEADERS } from '../../protocol/constants.ts';
import { type ControlRequest, controlRequestSchema } from '../../protocol/control-request.ts';
import { acknowledged } from '../acknowledgement.ts';
import { validBody } from '../middleware/body.ts';
import { type Context, type Handler, identityOf, required, sourceOf, type Tenancy } from '../steps.ts';
import type { Budgets } from './discovery.ts';
import { type TenantSources, tenantKnown } from './known-tenants.ts';

interface Sources extends TenantSources {
  readonly plane: ControlPlane;
  readonly instruments: ControlInstruments;
  readonly fleet?: Fleet | undefined;
  readonly budgets?: Budgets | undefined;
  readonly clock: Clock;
}

/** `POST /rdcp/v1/control`: passes the request to the control plane and counts the result. */
export function control(sources: Sources): Handler {
  const { plane, instruments, fleet, budgets, clock } = sources;
  return async (ctx) => {
    const request = validBody(ctx, controlRequestSchema);
    const started = clock.monotonic();
    const seconds = () => (clock.monotonic() - started) / 1000;
    try {
      if (budgets !== undefined) assertMayRaise(required(ctx, 'principal'), request, budgets);
      const outcome = await plane.control(request, commandContext(ctx, request, sources));
      if (outcome.response.otelrdcp_dryRun === true) return { body: outcome.response };
      const response = await acknowledged(outcome, fleet);
      instruments.controlRequest(request.action, response.status, seconds());
      const body = response === outcome.response ? (outcome.json ?? response) : response;
      return { body, ...(outcome.replayed && { headers: { [HEADERS.replayed]: 'true' } }) };
    } catch (error) {
      const refused = isRdcpError(error) && error.status < 500;
      instruments.controlRequest(request.action, refused ? 'denied' : 'failed', seconds());
      throw error;
    }
  };
}

/** Raising a limit that the service's owner has set requires `admin`. */
function assertMayRaise(principal: Principal, { categories = [], options }: ControlRequest, budgets: Budgets): void {
  const budget = options?.otelrdcp_budget;
  if (budget === undefined) return;
  const asked = budget === false ? Number.POSITIVE_INFINITY : (budget.callsPerSecond ?? 0);
  const raised = categories.some((name) => asked > (budgets.configuredRate(name) ?? Number.POSITIVE_INFINITY));
  if (raised) assertScope(principal, ['admin'], 'A larger budget');
}

function commandContext(ctx: Context, request: ControlRequest, sources: TenantSources): CommandContext {
  const principal = required(ctx, 'principal');
  const tenancy = required(ctx, 'tenancy');
  const { requestId, requestIdGiven } = ctx.state;
  return {
    ...tenancy,
    // With settings that all tenants share, the scope names none: the change takes effect whichever tenant was named.
    ...(tenancy.scope.tenantId !== undefined && tenantKnown(principal, tenancy.scope.tenantId, sources)),
    identity: identityOf(principal),
    requestId,
    source: sourceOf(ctx.req),
    // The same id may then be used for the change itself.
    ...(requestIdGiven &&
      request.options?.otelrdcp_dryRun !== true && {
        replay: {
          key: JSON.stringify([identityKey(principal), requestId]),
          fingerprint: fingerprint(request, tenancy),
        },
      }),
  };
}

/** Identifies the content of a request, independent of the order and spelling of fields, to compare retries. */
function fingerprint({ action, categories, options }: ControlRequest, { tenantId }: Tenancy): string {
  const { temporary, duration, reason, otelrdcp_budget: budget } = options ?? {};
  const limits = budget && [budget.callsPerSecond, budget.calls, budget.bytes];
  return hash('sha256', JSON.stringify([tenantId, action, categories, temporary, duration, reason, limits]), 'hex');
}
