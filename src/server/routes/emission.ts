import { hasScope } from '../../auth/principal.ts';
import type { Context } from '../context.ts';

/** Where debug calls go tells of how the service is built: not everybody's business. */
export function maySeeEmission(ctx: Context): boolean {
  const { principal } = ctx.state;
  return principal !== undefined && hasScope(principal, 'status');
}
