import type { RdcpClient } from '../client/client.ts';
import type { FleetCalls } from '../protocol/messages.ts';
import { escapeUnprintable } from '../protocol/printable.ts';
import type { Terminal } from './terminal.ts';

/** Processes by id as people know them, `host:pid`; by id where the service does not list them. Safe to print. */
export async function processNames(client: Pick<RdcpClient, 'fleet'>, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const fleet = await client.fleet().catch(() => undefined);
  const names = new Map(fleet?.instances?.map(({ id, host, pid }) => [id, `${host}:${pid}`]));
  return ids.map((id) => escapeUnprintable(names.get(id) ?? id));
}

/** Which fleet an answer is of, where the answers of several services are shown together; `undefined` if it is alone. */
export async function fleetOf(
  { merges }: Pick<Terminal, 'merges'>,
  client: Pick<RdcpClient, 'fleet'>,
  { otelrdcp_instances: instances }: FleetCalls,
): Promise<string | undefined> {
  if (merges !== true || (instances?.of ?? 1) < 2) return undefined;
  const fleet = await client.fleet().catch(() => undefined);
  // Ids are unique, and the same for all that ask.
  return fleet?.instances.map(({ id }) => id).sort()[0];
}
