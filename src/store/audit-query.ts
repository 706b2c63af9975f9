import { RdcpError } from '../errors.ts';
import type { AuditEntry } from '../protocol/audit-messages.ts';
import type { AuditQuery } from './state-store.ts';

/**
 * A page ends before this many bytes of JSON, but holds at least one entry. The page limit counts entries, and one
 * entry may list thousands of changes.
 */
export const PAGE_BYTES = 2 * 1024 * 1024;

/** Whether an entry passes every filter of a query, for stores that filter in the process. */
export function auditFilter(query: AuditQuery): (entry: AuditEntry) => boolean {
  const { since, until, action, category, client, outcome, tenant } = query;
  return (entry) => {
    if (action !== undefined && entry.action !== action) return false;
    if (outcome !== undefined && entry.outcome !== outcome) return false;
    if (client !== undefined && entry.identity.clientId !== client) return false;
    if (tenant !== undefined && entry.tenant?.id !== tenant) return false;
    if (category !== undefined && !entry.categories.includes(category)) return false;
    if (since === undefined && until === undefined) return true;
    const at = Date.parse(entry.timestamp);
    return (since === undefined || at >= since) && (until === undefined || at < until);
  };
}

/** Encodes a position in the trail as the opaque cursor for clients. */
export function encodeCursor(position: string): string {
  return Buffer.from(position).toString('base64url');
}

/**
 * Decodes a cursor.
 * @throws {RdcpError} `RDCP_MALFORMED_REQUEST` unless {@link encodeCursor} made it from a matching position
 */
export function decodeCursor(cursor: string, form: RegExp): string {
  const position = Buffer.from(cursor, 'base64url').toString();
  if (form.test(position) && encodeCursor(position) === cursor) return position;
  throw new RdcpError('RDCP_MALFORMED_REQUEST', 'cursor is not one that this server gave out', {
    details: { field: 'cursor' },
  });
}

/** Positions that are counters: an integer that a double represents exactly. */
export const COUNTED_POSITION = /^\d{1,15}$/;
