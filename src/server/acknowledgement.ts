import type { ControlOutcome } from '../control/types.ts';
import type { Fleet } from '../fleet/types.ts';
import type { ControlResponse } from '../protocol/messages.ts';

/**
 * Adds the fleet's state to the answer of a change. A stored change stays `partial` until every process has applied it.
 * A retry reports the fleet's present state, for the newest change. Local changes need no acknowledgement.
 */
export async function acknowledged(
  { response, position }: ControlOutcome,
  fleet: Fleet | undefined,
): Promise<ControlResponse> {
  if (fleet === undefined || response.status !== 'success') return response;
  const summary = await fleet.acknowledged(position);
  if (summary === undefined) {
    const message = `${response.message}; who has applied it is not known: the store does not answer`;
    return { ...response, status: 'partial', message };
  }
  const { instances, pending } = summary;
  if (pending.length === 0) return { ...response, otelrdcp_fleet: summary };
  const count = `${pending.length} of ${instances} processes ${pending.length === 1 ? 'has' : 'have'}`;
  const message = `${response.message}; ${count} not applied it yet`;
  return { ...response, status: 'partial', message, otelrdcp_fleet: summary };
}
