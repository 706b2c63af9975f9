import type { AuditTrail } from '../audit/types.ts';
import type { RdcpError } from '../errors.ts';
import type { ControlInstruments } from '../metrics/types.ts';
import { AUTH_METHODS, type AuthMethod } from '../protocol/constants.ts';
import type { Addressing } from '../tenancy/address.ts';
import { type Context, identityOf, sourceOf } from './context.ts';
import type { HandshakeRefusal } from './tls-refusals.ts';

/** Codes that say no to somebody, rather than to something: each is an entry of the trail. */
const REFUSALS: ReadonlySet<string> = new Set([
  'RDCP_AUTH_REQUIRED',
  'RDCP_AUTH_FAILED',
  'RDCP_FORBIDDEN',
  'RDCP_RATE_LIMITED',
]);

/** Writes refusals into the trail and counts them. */
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
      // A client that runs into its limit is one event, not one entry for every request it goes on sending.
      if (refusalRepeated) return;
      // Filed under whom it came from, never under a tenant that it named and may not speak for.
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

/** Writes client certificates that TLS refused into the trail and counts them: no request ever comes of them. */
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

/** Of a bounded set: it becomes an attribute of a metric. */
function reasonOf({ code, details }: RdcpError): string {
  if (code === 'RDCP_AUTH_REQUIRED') return 'no_credential';
  if (code === 'RDCP_RATE_LIMITED') return 'rate_limited';
  return typeof details?.reason === 'string' ? details.reason : 'forbidden';
}
