import { hasScope } from '../../auth/principal.ts';
import { RdcpError } from '../../errors.ts';
import type { Scope } from '../../protocol/constants.ts';
import type { Step } from '../context.ts';

/** Demands one of the scopes of whoever has authenticated; `admin` implies all. */
export function authorize(...scopes: readonly [Scope, ...Scope[]]): Step {
  return (ctx) => {
    const { principal } = ctx.state;
    if (principal === undefined || scopes.some((scope) => hasScope(principal, scope))) return;
    throw new RdcpError('RDCP_FORBIDDEN', `This operation needs the scope ${scopes.join(' or ')}`, {
      method: principal.method,
      details: { reason: 'insufficient_scopes', requiredScopes: scopes, providedScopes: principal.scopes },
      ...(principal.method === 'bearer' && {
        // RFC 6750, section 3.1.
        headers: { 'WWW-Authenticate': `Bearer realm="rdcp", error="insufficient_scope", scope="${scopes.join(' ')}"` },
      }),
    });
  };
}
