import type { AuditEntry } from '../wire/audit-messages.ts';
import { REFUSALS } from '../wire/refusals.ts';
import type { AuditPage, AuditQuery } from './state-store.ts';

/**
 * A page ends before this many bytes of JSON, but holds at least one entry. The page limit counts entries, and one
 * entry may list thousands of changes.
 */
const PAGE_BYTES = 2 * 1024 * 1024;

export interface Hit {
  /** Its place in the trail, as the cursor has it. */
  readonly position: string;
  readonly entry: AuditEntry;
  readonly bytes: number;
}

/**
 * Target size of one read in bytes of JSON, estimated from the read before, because a server can limit only the count. The first
 * read has this many entries.
 */
const BATCH_BYTES = 256 * 1024;
const FIRST_BATCH = 4;

/**
 * Reads entries batch by batch, newest first.
 * @param read reads as many entries before a position
 * @param most entries of a batch
 */
export async function* inBatches(
  read: (before: string, size: number) => Promise<readonly Hit[]>,
  from: string,
  most: number,
): AsyncGenerator<Hit> {
  let before = from;
  for (let size = Math.min(most, FIRST_BATCH); ; ) {
    const batch = await read(before, size);
    yield* batch;
    const last = batch.at(-1);
    if (last === undefined || batch.length < size) return;
    before = last.position;
    const average = batch.reduce((sum, { bytes }) => sum + bytes, 0) / batch.length;
    size = Math.max(1, Math.min(most, Math.floor(BATCH_BYTES / average)));
  }
}

export interface Search {
  /** Newest first, from the query's cursor on. */
  readonly found: AsyncIterable<Hit>;
  readonly limit: number;
  /** @default every entry that was found matches */
  readonly matches?: (entry: AuditEntry) => boolean;
  /** Entries after which a page ends, full or not. @default unlimited */
  readonly mostFound?: number;
}

/** Fills a page until it has its limit of entries or bytes. */
export async function pageOf({ found, limit, matches = () => true, mostFound }: Search): Promise<AuditPage> {
  const entries: AuditEntry[] = [];
  let last = '';
  let pageBytes = 0;
  let count = 0;
  for await (const { position, entry, bytes } of found) {
    const isMatch = matches(entry);
    // One match beyond the page shows that there is a next page.
    const isFull = entries.length === limit || (entries.length > 0 && pageBytes + bytes > PAGE_BYTES);
    if ((isMatch && isFull) || count === mostFound) return { entries, next: encodeCursor(last) };
    if (isMatch) {
      entries.push(entry);
      pageBytes += bytes;
    }
    last = position;
    count += 1;
  }
  return { entries };
}

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
function encodeCursor(position: string): string {
  return Buffer.from(position).toString('base64url');
}

/**
 * Decodes a cursor.
 * @throws {RdcpError} `RDCP_MALFORMED_REQUEST` unless it was made from a matching position
 */
export function decodeCursor(cursor: string, form: RegExp): string {
  const position = Buffer.from(cursor, 'base64url').toString();
  if (form.test(position) && encodeCursor(position) === cursor) return position;
  throw REFUSALS.malformed('cursor', 'is not one that this server gave out');
}

/** Decodes a cursor whose position is a counter: an integer that a double represents exactly. */
export function countedPosition(cursor: string): number {
  return Number(decodeCursor(cursor, /^\d{1,15}$/));
}
