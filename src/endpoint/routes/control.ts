import { hash } from 'node:crypto';
import { assertScope, identityKey, isOfTenants, keepsRights, type Principal } from '../../access/principal.ts';
import { withDefaultsOf } from '../../control/allow.ts';
import { type Approvals, type PendingChange, shownWaiting } from '../../control/approvals.ts';
import type { Choosing } from '../../control/fleet/choosing.ts';
import type { Fleet } from '../../control/fleet/fleet.ts';
import type { CommandContext, ControlOutcome } from '../../control/types.ts';
import { canonicalJson } from '../../trail/chain.ts';
import { HEADERS } from '../../wire/constants.ts';
import { approvalRequestSchema, type ControlRequest, controlRequestSchema } from '../../wire/control-request.ts';
import { isRdcpError } from '../../wire/errors.ts';
import type { ApprovalsResponse, ControlResponse } from '../../wire/messages.ts';
import { REFUSALS } from '../../wire/refusals.ts';
import { validBody } from '../middleware/body.ts';
import type { RouteParts } from '../parts.ts';
import { type Context, type Handler, identityOf, opening, required, sourceOf, type Tenancy } from '../steps.ts';
import type { Budgets } from './categories.ts';
import { tenantKnown } from './tenants.ts';

/** `POST /rdcp/v1/control`: passes the request to the control plane and counts the result. */
export function control(parts: RouteParts): Handler {
  const { config, plane, fleet, choosing, relay, approvals, budgets, instruments, clock } = parts;
  return async (ctx) => {
    const started = clock.monotonic();
    const asked = validBody(ctx, controlRequestSchema);
    const allow = ctx.state.principal?.allow;
    const { configuredRate } = budgets;
    const request = allow === undefined ? asked : withDefaultsOf(allow, asked, { ...config.controls, configuredRate });
    assertWithinQuota(ctx, request);
    const seconds = () => (clock.monotonic() - started) / 1000;
    try {
      assertMayRaise(ctx, request, budgets);
      assertMayLast(ctx, request);
      const context = commandContext(ctx, request, parts);
      const { otelrdcp_target: target, otelrdcp_filter: filter } = request.options ?? {};
      if (target !== undefined || filter !== undefined) {
        await relay.check({ match: target?.match, filter }, 'options.otelrdcp_');
      }
      const { categories } = request;
      if (fleet !== undefined && (categories === undefined || !plane.hasAll(categories))) await fleet.refresh(true);
      const changing = plane.control(request, context);
      const mayWait = ctx.state.principal?.approval === true;
      const outcome = await (mayWait
        ? changing.catch((error) => held(ctx, approvals, asked, context, error))
        : changing);
      if (outcome.response.otelrdcp_dryRun === true) return { body: outcome.response };
      const response = await acknowledged(outcome, fleet, choosing);
      instruments.controlRequest(request.action, response.status, seconds());
      return { body: response, ...(outcome.replayed && { headers: { [HEADERS.replayed]: 'true' } }) };
    } catch (error) {
      const refused = isRdcpError(error) && error.status < 500;
      instruments.controlRequest(request.action, refused ? 'denied' : 'failed', seconds());
      throw error;
    }
  };
}

/** What became of a change that was refused, and waits for an approval. Its entry in the trail stands for the refusal. */
async function held(
  ctx: Context,
  approvals: Pick<Approvals, 'hold'>,
  request: ControlRequest,
  context: CommandContext,
  refusal: unknown,
): Promise<ControlOutcome> {
  try {
    return await approvals.hold(request, context, { asker: required(ctx, 'principal'), refusal });
  } catch (error) {
    ctx.state.refusalRepeated = error !== refusal;
    throw error;
  }
}

/** Beyond the quota only what switches off or removes settings passes. */
function assertWithinQuota({ state }: Context, { action }: ControlRequest): void {
  const { overQuota } = state;
  state.overQuota = undefined;
  if (overQuota !== undefined && action !== 'reset' && action !== 'disable') throw overQuota;
}

/** Raising a limit that the service's owner has set requires `admin`. */
function assertMayRaise(ctx: Context, { categories = [], options }: ControlRequest, budgets: Budgets): void {
  const budget = options?.otelrdcp_budget;
  if (budget === undefined) return;
  const asked = budget === false ? Number.POSITIVE_INFINITY : (budget.callsPerSecond ?? 0);
  const raised = categories.some((name) => asked > (budgets.configuredRate(name) ?? Number.POSITIVE_INFINITY));
  if (raised) assertScope(required(ctx, 'principal'), ['admin'], 'A larger budget');
}

/** What is recorded without an end takes memory until somebody thinks of it. */
function assertMayLast(ctx: Context, { options }: ControlRequest): void {
  if (options?.otelrdcp_permanent !== true) return;
  assertScope(required(ctx, 'principal'), ['admin'], 'Recording without an end');
}

function commandContext(ctx: Context, request: ControlRequest, parts: RouteParts): CommandContext {
  const principal = required(ctx, 'principal');
  const tenancy = required(ctx, 'tenancy');
  const { requestId } = ctx.state;
  return {
    ...tenancy,
    // With settings that all tenants share, the scope names none: the change takes effect whichever tenant was named.
    ...(tenancy.scope.tenantId !== undefined && tenantKnown(principal, tenancy.scope.tenantId, parts)),
    identity: identityOf(principal),
    ...(principal.allow !== undefined && { allow: principal.allow }),
    requestId,
    source: sourceOf(ctx),
    // After a dry run, the same id may be used for the change itself. A client without an id repeats with that of the answer.
    ...(request.options?.otelrdcp_dryRun !== true && {
      replay: {
        key: JSON.stringify([identityKey(principal), requestId]),
        fingerprint: fingerprint(request, tenancy),
      },
    }),
  };
}

/** Identifies the content of a request, independent of the order and spelling of fields, to compare retries. */
function fingerprint({ protocol: _, options, ...request }: ControlRequest, { tenantId }: Tenancy): string {
  const { otelrdcp_dryRun: __, ...changes } = options ?? {};
  return hash('sha256', canonicalJson({ ...request, options: changes, tenantId }), 'hex');
}

/**
 * Adds the fleet's state to the answer of a change. A stored change stays `partial` until every process has applied it.
 * A retry reports the fleet's present state, for the newest change. Local changes need no acknowledgement.
 */
export async function acknowledged(
  { response, position }: ControlOutcome,
  fleet: Fleet | undefined,
  choosing: Pick<Choosing, 'chosen'>,
): Promise<ControlResponse> {
  const { otelrdcp_activation: activation, categories } = response;
  const instances = activation?.target?.instances;
  const meant = instances && (() => choosing.chosen({ id: activation?.id ?? '', categories, instances }));
  if (response.status !== 'success' || response.otelrdcp_document !== undefined) return response;
  const isChoice = (instances?.count ?? instances?.percent) !== undefined;
  const named = () => ({ ...response, ...(isChoice && { otelrdcp_chosen: meant?.().slice(0, MAX_CHOSEN) ?? [] }) });
  if (fleet === undefined) return meant?.().length === 0 ? partial(response, NOT_RUNNING) : named();
  const summary = await fleet.acknowledged(position, meant);
  if (summary === undefined) {
    return partial(
      response,
      'who has applied it is not known: the store does not answer, or has lost its list of processes',
    );
  }
  const answer = { ...named(), otelrdcp_fleet: summary };
  const { instances: number, pending, lastSeen = {} } = summary;
  if (number === 0) return partial(answer, NOT_RUNNING);
  if (pending.length === 0) return answer;
  const seen = Object.values(lastSeen).sort();
  const late = pending.length - seen.length;
  const have = (count: number) => `${count} of ${number} processes ${count === 1 ? 'has' : 'have'} not`;
  const why = [
    ...(late > 0 ? [`${have(late)} applied it yet`] : []),
    ...(seen.length > 0 ? [`${have(seen.length)} been heard of since ${seen[0]?.slice(11, 19)} UTC`] : []),
  ];
  return partial(answer, why.join(', '));
}

export const MAX_CHOSEN = 100;

const NOT_RUNNING = 'none of the processes that it is for is running';

function partial(response: ControlResponse, why: string): ControlResponse {
  return { ...response, status: 'partial', message: `${response.message}; ${why}` };
}

/** `GET /rdcp/v1/approvals`: changes that wait for an approval, of the tenant that the request addresses, or all. */
export function approvals({ approvals: held, clock }: RouteParts): Handler {
  return async (ctx) => {
    const waiting = (await held.waiting()).filter((each) => mayDecide(ctx, each));
    const body: ApprovalsResponse = { ...opening(ctx, clock), waiting: waiting.map(shownWaiting) };
    return { body };
  };
}

/** `POST /rdcp/v1/approve`: makes a change that waits, or declines it. */
export function approve({ approvals: held, authenticator, plane, fleet, choosing }: RouteParts): Handler {
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
