import { RdcpError } from '../errors.ts';
import type { AuditEntry } from '../protocol/messages.ts';
import type { AuditQuery } from './state-store.ts';

/**
 * A page ends before the entry that would take it over this many bytes of JSON, unless it is the first. The limit counts
 * entries, and one of them may tell of thousands of changes.
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

/** A position in the trail as the opaque cursor that clients pass back. */
export function encodeCursor(position: string): string {
  return Buffer.from(position).toString('base64url');
}

/**
 * The position in a cursor.
 * @throws {RdcpError} `RDCP_MALFORMED_REQUEST` for anything that {@link encodeCursor} did not make of a matching position
 */
export function decodeCursor(cursor: string, form: RegExp): string {
  const position = Buffer.from(cursor, 'base64url').toString();
  if (form.test(position) && encodeCursor(position) === cursor) return position;
  throw new RdcpError('RDCP_MALFORMED_REQUEST', 'cursor is not one that this server gave out', {
    details: { field: 'cursor' },
  });
}

/** The form of positions that count entries: a whole number that a double holds exactly. */
export const COUNTED_POSITION = /^\d{1,15}$/;
