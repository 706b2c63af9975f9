import type { Scope } from '../../control/types.ts';
import { RdcpError } from '../../errors.ts';
import { HEADERS } from '../../protocol/constants.ts';
import { GLOBAL_SCOPE } from '../../store/state-store.ts';
import { header, type Step } from '../context.ts';

const GLOBAL: Scope = { key: GLOBAL_SCOPE };
const MAX_TENANT_NAME_LENGTH = 200;

/**
 * Settles whose settings the request addresses. In single-tenant mode they are everybody's. A tenant named on a read is
 * then ignored; on a change it is refused, because to apply to everybody what was meant for one is the one wrong
 * outcome.
 */
export function tenancy(access: 'read' | 'change'): Step {
  return (ctx) => {
    if (access === 'change') {
      for (const name of [HEADERS.tenantId, HEADERS.isolationLevel]) {
        if (header(ctx.req, name) !== undefined) {
          throw new RdcpError('RDCP_MALFORMED_REQUEST', `${name} is not allowed: this server has no tenants`, {
            details: { field: name },
          });
        }
      }
    }
    const name = header(ctx.req, HEADERS.tenantName);
    ctx.state.tenancy = { scope: GLOBAL, ...(name !== undefined && { tenantName: printable(name) }) };
  };
}

/** The name decides nothing and goes into the trail: bounded, and without anything that a console would obey. */
function printable(text: string): string {
  return text
    .slice(0, MAX_TENANT_NAME_LENGTH)
    .replace(/\p{Cc}/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
