import type { AuditDraft } from '../audit/types.ts';
import type { RdcpError } from '../errors.ts';
import { EVERYBODY, PROTOCOL, REPLAY_WINDOW_MS } from '../protocol/constants.ts';
import type { ControlRequest } from '../protocol/control-request.ts';
import type { AuditEntry, AuditOutcome, ChangeRecord, ControlResponse } from '../protocol/messages.ts';
import { timestamp } from '../protocol/time.ts';
import type { ReplayRecord } from '../store/state-store.ts';
import { MAX_REFUSED_NAMES, nameSome, type Transition } from './transition.ts';
import type { CommandContext } from './types.ts';

/** What a command addressed, and what became of it. */
export type Changes = Pick<Transition, 'categories' | 'changes'>;

/**
 * The answer to a control request that was applied.
 * @param status `partial` where it holds in this process alone
 */
export function controlResponse(
  { action }: ControlRequest,
  { categories, changes }: Changes,
  status: 'success' | 'partial',
  now: number,
  tenant: CommandContext['tenant'],
): ControlResponse {
  const message = describe(action, changes);
  return {
    protocol: PROTOCOL,
    timestamp: timestamp(now),
    ...(tenant !== undefined && { tenant }),
    action,
    categories,
    status,
    message: status === 'success' ? message : `${message}, in this process alone until the store can be reached again`,
    changes,
  };
}

const DONE = { enable: 'Enabled', disable: 'Disabled', toggle: 'Toggled', reset: 'Reset' } as const;

/** One line for the person who asked. */
function describe(action: ControlRequest['action'], changes: readonly ChangeRecord[]): string {
  if (action === 'status') {
    const on = changes.filter(({ newState }) => newState).length;
    return `${on} of ${changes.length === 1 ? '1 category' : `${changes.length} categories`} enabled`;
  }
  const subject = changes.length === 0 ? 'nothing' : nameSome(changes.map(({ category }) => category));
  const until = action === 'reset' ? undefined : changes.find(({ expiresAt }) => expiresAt !== undefined)?.expiresAt;
  return `${DONE[action]} ${subject}${until === undefined ? '' : ` until ${until}`}`;
}

/** The answer as it is kept for a repeat, where the client named the request id. */
export function replayRecord(
  { replay }: CommandContext,
  response: ControlResponse,
  now: number,
): ReplayRecord | undefined {
  return replay && { ...replay, response: JSON.stringify(response), expiresAt: now + REPLAY_WINDOW_MS };
}

/** What the trail says of a command that was carried out. Of `status` it says what was asked, not what was answered. */
export function commandDraft(
  request: ControlRequest,
  context: CommandContext,
  { categories, changes }: Changes,
  outcome: AuditOutcome,
): AuditDraft {
  if (request.action === 'status') return draftOf(request, context, request.categories ?? [], [], outcome);
  return draftOf(request, context, categories, changes, outcome);
}

/** What the trail says of a command that could not be carried out. */
export function refusalDraft(request: ControlRequest, context: CommandContext, error: RdcpError): AuditDraft {
  const named = error.details?.unknown ?? request.categories ?? [];
  const categories = (named as readonly string[]).slice(0, MAX_REFUSED_NAMES);
  return { ...draftOf(request, context, categories, [], 'failed'), error: error.code };
}

function draftOf(
  { action, options }: ControlRequest,
  context: CommandContext,
  categories: AuditDraft['categories'],
  changes: AuditDraft['changes'],
  outcome: AuditOutcome,
): AuditDraft {
  const tenant = tenantOf(context);
  return {
    action,
    categories,
    changes,
    outcome,
    identity: context.identity,
    ...(tenant !== undefined && { tenant }),
    requestId: context.requestId,
    ...(options?.reason !== undefined && { reason: options.reason }),
    ...(options?.otelrdcp_budget !== undefined && { otelrdcp_budget: options.otelrdcp_budget }),
    ...(context.source !== undefined && { source: context.source }),
  };
}

/** Under global isolation a tenant's operator addresses the global scope; the entry is the tenant's all the same. */
function tenantOf({ scope, tenant, tenantName }: CommandContext): AuditEntry['tenant'] {
  const id = scope.tenantId ?? (tenant?.id === EVERYBODY ? undefined : tenant?.id);
  return id === undefined ? undefined : { id, ...(tenantName !== undefined && { name: tenantName }) };
}

/** What the trail says when temporary controls ended. @param spent by their budget */
export function expiryDraft(over: Changes, tenantId: string | undefined, spent: boolean): AuditDraft {
  return { ...ownDraft('expire', over, tenantId), ...(spent && { reason: 'budget' }) };
}

/** What the trail says when what held in this process alone became everybody's, or what everybody has holds here again. */
export function reconciliationDraft(reconciled: Changes, tenantId: string | undefined, reason: string): AuditDraft {
  return { ...ownDraft('reconcile', reconciled, tenantId), reason };
}

/** For what no request asked for just then. */
function ownDraft(
  action: AuditDraft['action'],
  { categories, changes }: Changes,
  tenantId: string | undefined,
): AuditDraft {
  return {
    action,
    categories,
    changes,
    outcome: 'success',
    identity: {},
    ...(tenantId !== undefined && { tenant: { id: tenantId } }),
  };
}
