import { propagation } from '@opentelemetry/api';
import { TICKET_ENTRY, ticketHash, ticketIn } from '../../access/tickets/ticket.ts';
import type { ServedRequest } from '../../gate/work.ts';
import type { Surroundings } from './attributes.ts';

/** By the baggage or the request, which are the same objects throughout a piece of work, so that a ticket is hashed once. */
const hashes = new WeakMap<object, string | undefined>();

/** The SHA-256 of the ticket that work carries: in the active baggage, or in its request where no propagator reads that. */
export function carriedTicket({ work, active }: Surroundings): string | undefined {
  const baggage = propagation.getBaggage(active);
  const inContext = baggage && hashOnce(baggage, () => baggage.getEntry(TICKET_ENTRY)?.value);
  if (inContext !== undefined) return inContext;
  const request = work?.request;
  return request && hashOnce(request, () => ticketOfRequest(request));
}

/** The ticket in the `baggage` header of a request. */
export function ticketOfRequest(request: ServedRequest): string | undefined {
  const header = request.header('baggage');
  return header === undefined ? undefined : ticketIn(header);
}

function hashOnce(carrier: object, ticket: () => string | undefined): string | undefined {
  if (hashes.has(carrier)) return hashes.get(carrier);
  const value: unknown = ticket();
  const hash = typeof value === 'string' ? ticketHash(value) : undefined;
  hashes.set(carrier, hash);
  return hash;
}
