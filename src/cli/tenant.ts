import type { RdcpClient } from '../client/client.ts';
import { nearest } from './names.ts';
import { some } from './words.ts';

const UNKNOWN = 'No tenant of this id is configured or has settings, and the answering process has not seen it';

/** For an operator who may have misspelt a tenant. */
export const UNKNOWN_TENANT = `${UNKNOWN}: 'rdcp tenants' lists those that are known.`;

/**
 * The same with the tenants that may have been meant.
 * @param client one that names no tenant
 */
export async function unknownTenant(client: Pick<RdcpClient, 'tenants'>, id: string): Promise<string> {
  const answer = await client.tenants().catch(() => undefined);
  const known = (answer?.tenants ?? []).map((tenant) => tenant.id).filter((each) => each !== id);
  const near = nearest(id, known);
  if (near.length > 0) return `${UNKNOWN}: did you mean ${near.join(' or ')}?`;
  return `${UNKNOWN}${known.length === 0 ? '' : `; known are ${some(known)}`}.`;
}
