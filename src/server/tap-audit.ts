import type { AuditDraft, AuditTrail } from '../audit/types.ts';
import { isRdcpError, RdcpError } from '../errors.ts';
import type { AuditedTail } from '../protocol/messages.ts';
import { type Context, identityOf, required, sourceOf } from './context.ts';

interface TapEntry extends Pick<AuditDraft, 'action' | 'categories'> {
  readonly reason: string;
  readonly tail?: AuditedTail;
}

/** Writes an audit entry about a tap. */
export type RecordTap = (ctx: Context, entry: TapEntry) => Promise<void>;

/**
 * In an outage of the store the entry follows when it is back, because then debug lines are needed most. At level
 * enterprise nothing is shown that is not audited.
 */
export function createTapAudit(trail: Pick<AuditTrail, 'record' | 'note'>, enterprise: boolean): RecordTap {
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
