import { hash } from 'node:crypto';

/** The entry of W3C baggage that carries a ticket. */
export const TICKET_ENTRY = 'rdcp.debug';
export const TICKET_TYPE = 'rdcp-ticket+jwt';
/** How a ticket without a signature begins. 128 random bits follow. */
export const TICKET_PREFIX = 'rdcp_ticket_';

/** Longest entry of baggage that OpenTelemetry's propagator passes on, and longest header, in characters. */
const MAX_ENTRY = 4096;
const MAX_BAGGAGE = 8192;
export const MAX_TICKET_LENGTH = MAX_ENTRY - TICKET_ENTRY.length - 1;
export const MAX_TICKET_SECONDS = 3600;

/** A verified ticket: these categories are on for the work that carries it. */
export interface Ticket {
  readonly id: string;
  /** Who signed it. @default this server, for its own store */
  readonly issuer?: string;
  readonly categories: readonly string[];
  /** It is of this tenant's work alone. */
  readonly tenantId?: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Returns what stands for a ticket where the ticket itself must not be kept. */
export function ticketHash(ticket: string): string {
  return hash('sha256', ticket, 'base64url');
}

/** Reads baggage as OpenTelemetry's propagator does: of a doubled entry the last one counts. A header longer than 8 KiB is not read. */
export function ticketIn(baggage: string): string | undefined {
  if (baggage.length > MAX_BAGGAGE) return undefined;
  let found: string | undefined;
  for (const entry of baggage.split(',')) {
    const [pair = ''] = entry.split(';', 1);
    const equals = pair.indexOf('=');
    if (equals === -1 || entry.length > MAX_ENTRY || decoded(pair.slice(0, equals)) !== TICKET_ENTRY) continue;
    found = decoded(pair.slice(equals + 1)) || found;
  }
  return found;
}

function decoded(text: string): string | undefined {
  const trimmed = text.trim();
  if (!trimmed.includes('%')) return trimmed;
  try {
    return decodeURIComponent(trimmed);
  } catch {
    return undefined;
  }
}
