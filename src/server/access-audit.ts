import type { AuditDraft, AuditTrail } from '../audit/types.ts';
import { isRdcpError, RdcpError } from '../errors.ts';
import type { AuditedTail } from '../protocol/audit-messages.ts';
import { type Context, identityOf, required, sourceOf } from './steps.ts';

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
    const { requestId } = ctx.state;
    const { tenantId, tenantName } = required(ctx, 'tenancy');
    const draft: AuditDraft = {
      ...entry,
      changes: [],
      outcome: 'success',
      identity: identityOf(required(ctx, 'principal')),
      ...(tenantId !== undefined && {
        tenant: { id: tenantId, ...(tenantName !== undefined && { name: tenantName }) },
      }),
      requestId,
      source: sourceOf(ctx.req),
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
      throw new RdcpError('RDCP_AUDIT_WRITE_FAILED', 'The request could not be audited, so it was refused', { cause });
    }
  };
}
