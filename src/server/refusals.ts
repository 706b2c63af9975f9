import type { AuditTrail } from '../audit/types.ts';
import type { RdcpError } from '../errors.ts';
import type { ControlInstruments } from '../metrics/types.ts';
import { AUTH_METHODS, type AuthMethod } from '../protocol/constants.ts';
import type { Addressing } from '../tenancy/address.ts';
import { type Context, identityOf, sourceOf } from './steps.ts';
import type { HandshakeRefusal } from './tls-refusals.ts';

/** Codes that refuse a caller rather than a malformed request. Each writes an audit entry. */
const REFUSALS: ReadonlySet<string> = new Set([
  'RDCP_AUTH_REQUIRED',
  'RDCP_AUTH_FAILED',
  'RDCP_FORBIDDEN',
  'RDCP_RATE_LIMITED',
]);

/** Records refusals in the trail and counts them. */
export function createRefusals({
  trail,
  instruments,
  addressing,
}: {
  trail: AuditTrail;
  instruments: ControlInstruments;
  addressing: Addressing;
}) {
  return {
    note: (ctx: Context, error: RdcpError): void => {
      if (!REFUSALS.has(error.code)) return;
      const { principal, requestId, tenancy, refusalRepeated } = ctx.state;
      instruments.authFailure(principal?.method ?? methodOf(error), reasonOf(error));
      // A client over its limit is one event, not an entry for every further request.
      if (refusalRepeated) return;
      // Recorded under the caller's own tenant, never under one that it named without permission.
      const { tenantId } = tenancy ?? addressing.own(principal);
      trail.refused(
        {
          action: principal === undefined && error.code !== 'RDCP_FORBIDDEN' ? 'authenticate' : 'authorize',
          categories: [],
          changes: [],
          outcome: 'denied',
          identity: identityOf(principal),
          ...(tenantId !== undefined && { tenant: { id: tenantId } }),
          requestId,
          source: sourceOf(ctx.req),
          error: error.code,
        },
        ctx.path,
      );
    },
  };
}

/** Records and counts client certificates that TLS refused, since no request follows. */
export function noteHandshake(
  { reason, address }: HandshakeRefusal,
  { trail, instruments }: { trail: Pick<AuditTrail, 'refused'>; instruments: Pick<ControlInstruments, 'authFailure'> },
): void {
  instruments.authFailure('mtls', reason);
  trail.refused({
    action: 'authenticate',
    categories: [],
    changes: [],
    outcome: 'denied',
    identity: {},
    reason,
    ...(address !== undefined && { source: { address } }),
    error: reason === 'certificate_missing' ? 'RDCP_AUTH_REQUIRED' : 'RDCP_AUTH_FAILED',
  });
}

export type Refusals = ReturnType<typeof createRefusals>;

function methodOf(error: RdcpError): AuthMethod | 'none' {
  return AUTH_METHODS.find((method) => method === error.method) ?? 'none';
}

/** A bounded set, because it becomes a metric attribute. */
function reasonOf({ code, details }: RdcpError): string {
  if (code === 'RDCP_AUTH_REQUIRED') return 'no_credential';
  if (code === 'RDCP_RATE_LIMITED') return 'rate_limited';
  return typeof details?.reason === 'string' ? details.reason : 'forbidden';
}
