import type { AuditAction, AuditEntry, AuditOutcome, AuditResponse } from '../../wire/audit-messages.ts';
import { PATHS } from '../../wire/constants.ts';
import { given } from '../../wire/json-text.ts';
import type { Timestamp } from '../../wire/time.ts';
import type { RequestOptions, Transport } from './transport.ts';

/** Filters of the audit trail. An entry must match all of them. */
export interface AuditFilter {
  /** Entries per page, 1 to 1000. @default 100 */
  readonly limit?: number;
  /** `otelrdcp_next` of the previous page. */
  readonly cursor?: string;
  /** Entries at or after this time. */
  readonly since?: Date | Timestamp;
  /** Entries before this time. */
  readonly until?: Date | Timestamp;
  /** Only entries of this action. @default all */
  readonly action?: AuditAction;
  /** Only entries about this category. @default all */
  readonly category?: string;
  /** Only entries of this client id. @default all */
  readonly client?: string;
  /** Only entries with this outcome. @default all */
  readonly outcome?: AuditOutcome;
}

export async function* auditEntries(
  send: Transport,
  filter: AuditFilter,
  options: Pick<RequestOptions, 'signal'> = {},
): AsyncGenerator<AuditEntry, void, undefined> {
  yield* everyPage(async (cursor) => {
    const query = { ...filter, ...given({ cursor }) };
    const { entries, otelrdcp_next: next } = await send<AuditResponse>({ path: PATHS.audit, query }, options);
    return { entries, next };
  });
}

/** The entries of one page after the other. @param ask is called with the cursor of a page, and for the first one without */
export async function* everyPage(
  ask: (
    cursor: string | undefined,
  ) => Promise<{ readonly entries: readonly AuditEntry[]; readonly next?: string | undefined }>,
): AsyncGenerator<AuditEntry, void, undefined> {
  let cursor: string | undefined;
  do {
    const { entries, next } = await ask(cursor);
    yield* entries;
    cursor = next;
  } while (cursor !== undefined);
}
