import { PATHS } from '../protocol/constants.ts';
import type { AuditAction, AuditEntry, AuditOutcome, AuditResponse } from '../protocol/messages.ts';
import { type Timestamp, timestamp } from '../protocol/time.ts';
import type { RequestOptions, Transport } from './transport.ts';

/** Filters of the audit trail; every one given must hold. */
export interface AuditFilter {
  /** Entries in one answer, 1 to 1000. @default 100 */
  readonly limit?: number;
  /** The `otelrdcp_next` of an earlier page. */
  readonly cursor?: string;
  /** From this instant on. */
  readonly since?: Date | Timestamp;
  /** Until just before this instant. */
  readonly until?: Date | Timestamp;
  readonly action?: AuditAction;
  readonly category?: string;
  readonly client?: string;
  readonly outcome?: AuditOutcome;
}

export function fetchAudit(send: Transport, filter: AuditFilter, options?: RequestOptions): Promise<AuditResponse> {
  return send<AuditResponse>({ path: PATHS.audit, query: queryOf(filter) }, options);
}

/** Every entry that fits, newest first, page by page. */
export async function* auditEntries(
  send: Transport,
  filter: AuditFilter,
  options: Pick<RequestOptions, 'signal'> = {},
): AsyncGenerator<AuditEntry, void, undefined> {
  let page = await fetchAudit(send, filter, options);
  yield* page.entries;
  while (page.otelrdcp_next !== undefined) {
    page = await fetchAudit(send, { ...filter, cursor: page.otelrdcp_next }, options);
    yield* page.entries;
  }
}

function queryOf(filter: AuditFilter): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filter)) {
    if (value !== undefined) query.set(name, value instanceof Date ? timestamp(value.getTime()) : String(value));
  }
  return query;
}
