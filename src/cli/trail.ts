import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RdcpClient } from '../client/client.ts';
import { isRdcpError } from '../errors.ts';
import type { AuditEntry } from '../protocol/audit-messages.ts';
import { openStore } from '../store/open.ts';
import { UsageError } from './command.ts';

/** Entries per page. Only one page is in memory, however long the trail is. */
const PAGE = 1000;
/** A few pages may be empty while retention drops their entries. */
const MOST_EMPTY_PAGES = 50;

/** The whole trail of a server, newest entry first. Waits and retries when the server limits the rate. */
export async function* trailOfServer(client: RdcpClient): AsyncGenerator<AuditEntry, void, undefined> {
  let cursor: string | undefined;
  let empty = 0;
  do {
    const page = await patiently(() => client.audit({ limit: PAGE, ...(cursor !== undefined && { cursor }) }));
    if (page.tenant?.scope === 'tenant-isolated') {
      throw new UsageError('this credential shows the trail of one tenant only: use a credential without a tenant');
    }
    empty = page.entries.length === 0 ? empty + 1 : 0;
    if (empty === MOST_EMPTY_PAGES) throw new Error(`the server answered ${empty} empty pages in a row`);
    yield* page.entries;
    cursor = page.otelrdcp_next;
  } while (cursor !== undefined);
}

/** The whole trail of a store, newest entry first, read directly. */
export async function* trailOfStore(url: string): AsyncGenerator<AuditEntry, void, undefined> {
  assertStore(url);
  const store = openStore(url);
  try {
    let cursor: string | undefined;
    do {
      const page = await store.queryAudit({ limit: PAGE, ...(cursor !== undefined && { cursor }) });
      yield* page.entries;
      cursor = page.next;
    } while (cursor !== undefined);
  } finally {
    await store.close();
  }
}

/** SQLite would create a missing file. */
function assertStore(url: string): void {
  if (/^rediss?:/.test(url)) return;
  if (!/^sqlite:./.test(url)) throw new UsageError('--store must be sqlite:FILE, redis://HOST or rediss://HOST');
  if (!existsSync(url.slice('sqlite:'.length))) throw new UsageError('--store: the file does not exist');
}

async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isRdcpError(error) || error.code !== 'RDCP_RATE_LIMITED') throw error;
      await sleep(1000 * Math.max(1, Number(error.headers?.['Retry-After'] ?? 1)));
    }
  }
}
