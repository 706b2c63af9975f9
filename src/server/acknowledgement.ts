import type { ControlOutcome } from '../control/types.ts';
import type { Fleet } from '../fleet/types.ts';
import type { ControlResponse } from '../protocol/messages.ts';

/**
 * The answer with what the fleet says to it. A change that is kept by the store is `partial` as long as processes have not
 * applied it. A repeat is told how far the fleet is by then, with the newest change: what it was when the answer was kept
 * could not be known yet, and is of no use any more. What holds in this process alone is nobody else's to acknowledge.
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
