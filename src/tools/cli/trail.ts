import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStore } from '../../store/open.ts';
import type { AuditEntry } from '../../wire/audit-messages.ts';
import { isRdcpError } from '../../wire/errors.ts';
import type { RdcpClient } from '../client/client.ts';
import { askedForMs } from '../client/passing.ts';
import { UsageError } from './command.ts';

/** Entries per page. Only one page is in memory, however long the trail is. */
const PAGE = 1000;
/** A few pages may be empty while retention drops their entries. */
const MOST_EMPTY_PAGES = 50;

interface Page {
  readonly entries: readonly AuditEntry[];
  readonly next?: string | undefined;
}

async function* paged(ask: (request: { limit: number; cursor?: string }) => Promise<Page>) {
  let cursor: string | undefined;
  do {
    const { entries, next }: Page = await ask({ limit: PAGE, ...(cursor !== undefined && { cursor }) });
    yield* entries;
    cursor = next;
  } while (cursor !== undefined);
}

export function trailOfServer(client: RdcpClient): AsyncGenerator<AuditEntry, void, undefined> {
  let empty = 0;
  return paged(async (request) => {
    const { entries, tenant, otelrdcp_tenants, otelrdcp_next: next } = await patiently(() => client.audit(request));
    if (tenant?.scope === 'tenant-isolated' || otelrdcp_tenants !== undefined) {
      throw new UsageError('this credential shows the trail of some tenants only: use a credential without a tenant');
    }
    empty = entries.length === 0 ? empty + 1 : 0;
    if (empty === MOST_EMPTY_PAGES) throw new Error(`the server answered ${empty} empty pages in a row`);
    return { entries, next };
  });
}

export async function* trailOfStore(url: string): AsyncGenerator<AuditEntry, void, undefined> {
  if (!/^(rediss?|postgres|postgresql):/.test(url)) {
    if (!/^sqlite:./.test(url)) throw new UsageError('--store must be sqlite:FILE, redis://HOST or postgres://HOST');
    // SQLite would create a missing file.
    if (!existsSync(url.slice('sqlite:'.length))) throw new UsageError('--store: the file does not exist');
  }
  const store = openStore(url);
  try {
    yield* paged((request) => store.queryAudit(request));
  } finally {
    await store.close();
  }
}

async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isRdcpError(error) || error.code !== 'RDCP_RATE_LIMITED') throw error;
      await sleep(Math.max(1000, askedForMs(error, Date.now()) ?? 0));
    }
  }
}
