import type { FleetCalls, FleetResponse } from '../../wire/messages.ts';
import { escapeUnprintable } from '../../wire/printable.ts';
import { silentText } from '../../wire/words/change.ts';
import type { RdcpClient } from '../client/client.ts';
import type { Terminal } from './terminal.ts';

/**
 * Processes by id as people know them, `host:pid`, with since when one is not heard of; by id where the service does not list them.
 * Safe to print.
 */
export async function processNames(
  client: Pick<RdcpClient, 'fleet'>,
  ids: readonly string[],
  now: number,
): Promise<string[]> {
  if (ids.length === 0) return [];
  const { instances = [], lost = [] }: Partial<FleetResponse> = (await client.fleet().catch(() => undefined)) ?? {};
  const names = new Map(instances.map(({ id, host, pid }) => [id, `${host}:${pid}`]));
  for (const { id, host, pid, lastSeenAt } of lost) {
    names.set(id, silentText(`${host}:${pid}`, lastSeenAt, now));
  }
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
