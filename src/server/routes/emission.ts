import { hasScope } from '../../auth/principal.ts';
import type { Context } from '../steps.ts';

/** Whether a caller may see where debug calls go, which reveals how the service is built. */
export function maySeeEmission(ctx: Context): boolean {
  const { principal } = ctx.state;
  return principal !== undefined && hasScope(principal, 'status');
}
