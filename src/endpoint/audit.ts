import type { Principal } from '../access/principal.ts';
import type { ControlInstruments } from '../calls/metrics/types.ts';
import type { Addressing } from '../control/tenancy/address.ts';
import type { AuditDraft, AuditTrail } from '../trail/types.ts';
import type { AuditedTail } from '../wire/audit-messages.ts';
import { AUTH_METHODS, type AuthMethod } from '../wire/constants.ts';
import { isRdcpError, type RdcpError } from '../wire/errors.ts';
import { REFUSALS } from '../wire/refusals.ts';
import { type Context, identityOf, required, sourceOf } from './steps.ts';

/** The members of an audit entry that say who sent a request, and whence. */
export function auditDraft(
  ctx: Context,
  principal: Principal | undefined,
  { tenantId, tenantName }: { readonly tenantId?: string | undefined; readonly tenantName?: string | undefined },
) {
  return {
    changes: [],
    identity: identityOf(principal),
    ...(tenantId !== undefined && { tenant: { id: tenantId, ...(tenantName !== undefined && { name: tenantName }) } }),
    requestId: ctx.state.requestId,
    source: sourceOf(ctx),
  };
}

/** Codes that refuse a caller rather than a malformed request. Each writes an audit entry. */
const AUDITED: ReadonlySet<string> = new Set([
  'RDCP_AUTH_REQUIRED',
  'RDCP_AUTH_FAILED',
  'RDCP_FORBIDDEN',
  'RDCP_RATE_LIMITED',
]);

/** Records a refusal in the trail and counts it; other errors are ignored. */
export type NoteRefusal = (ctx: Context, error: RdcpError) => void;

export function createNoteRefusal(
  trail: Pick<AuditTrail, 'refused'>,
  instruments: Pick<ControlInstruments, 'authFailure'>,
  addressing: Addressing,
): NoteRefusal {
  return (ctx, error) => {
    if (!AUDITED.has(error.code)) return;
    const { principal, tenancy, refusalRepeated } = ctx.state;
    instruments.authFailure(principal?.method ?? methodOf(error), reasonOf(error));
    // A client over its limit is one event, not an entry for every further request.
    if (refusalRepeated) return;
    // Recorded under the caller's own tenant, never under one that it named without permission.
    const { tenantId } = tenancy ?? addressing.own(principal);
    const action = principal === undefined && error.code !== 'RDCP_FORBIDDEN' ? 'authenticate' : 'authorize';
    const draft = auditDraft(ctx, principal, { tenantId });
    trail.refused({ ...draft, action, categories: [], outcome: 'denied', error: error.code }, ctx.path);
  };
}

function methodOf(error: RdcpError): AuthMethod | 'none' {
  return AUTH_METHODS.find((method) => method === error.method) ?? 'none';
}

/** A bounded set, because it becomes a metric attribute. */
function reasonOf({ code, details }: RdcpError): string {
  if (code === 'RDCP_AUTH_REQUIRED') return 'no_credential';
  if (code === 'RDCP_RATE_LIMITED') return 'rate_limited';
  return typeof details?.reason === 'string' ? details.reason : 'forbidden';
}

interface AccessEntry extends Pick<AuditDraft, 'action' | 'categories'> {
  readonly reason: string;
  readonly tail?: AuditedTail;
}

/** Writes an audit entry about a tap, or about a sign-in. */
export type RecordAccess = (ctx: Context, entry: AccessEntry) => Promise<void>;

/**
 * In an outage of the store the entry follows when it is back, because then debug lines are needed most. At level
 * enterprise nothing is given that is not audited.
 */
export function createAccessAudit(trail: Pick<AuditTrail, 'record' | 'note'>, enterprise: boolean): RecordAccess {
  return async (ctx, { tail, ...entry }) => {
    const draft: AuditDraft = {
      ...auditDraft(ctx, required(ctx, 'principal'), required(ctx, 'tenancy')),
      ...entry,
      outcome: 'success',
      ...(tail && { otelrdcp_tail: tail }),
    };
    if (!enterprise) {
      trail.note(draft);
      return;
    }
    try {
      await trail.record(draft);
    } catch (cause) {
      if (isRdcpError(cause)) throw cause;
      throw REFUSALS.unaudited(cause);
    }
  };
}
