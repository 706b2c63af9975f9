import type { RdcpClient } from '../client/client.ts';
import { escapeUnprintable } from '../protocol/printable.ts';

/** Processes by id as people know them, `host:pid`; by id where the service does not list them. Safe to print. */
export async function processNames(client: Pick<RdcpClient, 'fleet'>, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const fleet = await client.fleet().catch(() => undefined);
  const names = new Map(fleet?.instances?.map(({ id, host, pid }) => [id, `${host}:${pid}`]));
  return ids.map((id) => escapeUnprintable(names.get(id) ?? id));
}
