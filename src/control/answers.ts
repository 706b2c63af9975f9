import type { AuditDraft } from '../audit/types.ts';
import type { RdcpError } from '../errors.ts';
import type { AuditEntry, AuditOutcome } from '../protocol/audit-messages.ts';
import { EVERYBODY, PROTOCOL, REPLAY_WINDOW_MS } from '../protocol/constants.ts';
import type { ControlRequest } from '../protocol/control-request.ts';
import type { ChangeRecord, ControlResponse } from '../protocol/messages.ts';
import { timestamp } from '../protocol/time.ts';
import type { ReplayRecord } from '../store/state-store.ts';
import { MAX_REFUSED_NAMES, nameSome, type Transition } from './transition.ts';
import type { CommandContext } from './types.ts';

/** The categories that a command addressed, and how they changed. */
export type Changes = Pick<Transition, 'categories' | 'changes'>;

/**
 * The answer to a control request that was applied.
 * @param status `partial` when the change applies to this process alone
 */
export function controlResponse(
  request: ControlRequest,
  { categories, changes }: Changes,
  status: 'success' | 'partial',
  now: number,
  { tenant, tenantKnown }: Pick<CommandContext, 'tenant' | 'tenantKnown'>,
): ControlResponse {
  const { action } = request;
  const dryRun = isDryRun(request);
  const message = `${describe(action, changes)}${dryRun ? ' (dry run: nothing was changed)' : ''}`;
  return {
    protocol: PROTOCOL,
    timestamp: timestamp(now),
    ...(tenant !== undefined && { tenant }),
    action,
    categories,
    status,
    message: status === 'success' ? message : `${message}, in this process alone until the store is available again`,
    changes,
    ...(dryRun && { otelrdcp_dryRun: true }),
    ...(tenantKnown === false && { otelrdcp_tenantKnown: false }),
  };
}

/** A dry run computes the answer only: it changes nothing, is not audited, and its answer is not kept for retries. */
export function isDryRun({ options }: ControlRequest): boolean {
  return options?.otelrdcp_dryRun === true;
}

const DONE = { enable: 'Enabled', disable: 'Disabled', toggle: 'Toggled', reset: 'Reset' } as const;

/** The summary line of the answer. */
function describe(action: ControlRequest['action'], changes: readonly ChangeRecord[]): string {
  if (action === 'status') {
    const on = changes.filter(({ newState }) => newState).length;
    return `${on} of ${changes.length === 1 ? '1 category' : `${changes.length} categories`} enabled`;
  }
  const subject = changes.length === 0 ? 'nothing' : nameSome(changes.map(({ category }) => category));
  const until = action === 'reset' ? undefined : changes.find(({ expiresAt }) => expiresAt !== undefined)?.expiresAt;
  return `${DONE[action]} ${subject}${until === undefined ? '' : ` until ${until}`}`;
}

/** The answer as stored for retries; `undefined` when the client sent no request id of its own. */
export function replayRecord(
  { replay }: CommandContext,
  response: ControlResponse,
  now: number,
): ReplayRecord | undefined {
  return replay && { ...replay, response: JSON.stringify(response), expiresAt: now + REPLAY_WINDOW_MS };
}

/** The audit entry of a command that succeeded. For `status` it holds what was requested, not what was answered. */
export function commandDraft(
  request: ControlRequest,
  context: CommandContext,
  { categories, changes }: Changes,
  outcome: AuditOutcome,
): AuditDraft {
  if (request.action === 'status') return draftOf(request, context, request.categories ?? [], [], outcome);
  return draftOf(request, context, categories, changes, outcome);
}

/** The audit entry of a command that was rejected. */
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

/** Under global isolation a tenant's operator addresses the global scope, but the entry still names the tenant. */
function tenantOf({ scope, tenant, tenantName }: CommandContext): AuditEntry['tenant'] {
  const id = scope.tenantId ?? (tenant?.id === EVERYBODY ? undefined : tenant?.id);
  return id === undefined ? undefined : { id, ...(tenantName !== undefined && { name: tenantName }) };
}

/** The audit entry for temporary controls that ended. @param spent whether their budget was used up */
export function expiryDraft(over: Changes, tenantId: string | undefined, spent: boolean): AuditDraft {
  return { ...ownDraft('expire', over, tenantId), ...(spent && { reason: 'budget' }) };
}

/** The audit entry for local controls that were shared with all processes, or replaced by the stored state. */
export function reconciliationDraft(reconciled: Changes, tenantId: string | undefined, reason: string): AuditDraft {
  return { ...ownDraft('reconcile', reconciled, tenantId), reason };
}

/** An entry that no request caused. */
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
