import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RdcpClient } from '../client/client.ts';
import { isRdcpError } from '../errors.ts';
import type { AuditEntry } from '../protocol/messages.ts';
import { openStore } from '../store/open.ts';
import { UsageError } from './command.ts';

/** Entries fetched at a time: what is held in memory of a trail, however long it is. */
const PAGE = 1000;
/** A page without a filter has entries; a few may be empty while retention drops what they would show. */
const MOST_EMPTY_PAGES = 50;

/** The whole trail of a server, newest entry first. A limit of rates is waited for. */
export async function* trailOfServer(client: RdcpClient): AsyncGenerator<AuditEntry, void, undefined> {
  let cursor: string | undefined;
  let empty = 0;
  do {
    const page = await patiently(() => client.audit({ limit: PAGE, ...(cursor !== undefined && { cursor }) }));
    if (page.tenant?.scope === 'tenant-isolated') {
      throw new UsageError('the trail of one tenant is not whole: use a credential without a tenant');
    }
    empty = page.entries.length === 0 ? empty + 1 : 0;
    if (empty === MOST_EMPTY_PAGES) throw new Error(`the server answered ${empty} empty pages in a row`);
    yield* page.entries;
    cursor = page.otelrdcp_next;
  } while (cursor !== undefined);
}

/** The whole trail of a store, newest entry first, without a server in between. */
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

/** Looking must not make the file that it looks for. */
function assertStore(url: string): void {
  if (/^rediss?:/.test(url)) return;
  if (!/^sqlite:./.test(url)) throw new UsageError('--store must be sqlite:FILE, redis://… or rediss://…');
  if (!existsSync(url.slice('sqlite:'.length))) throw new UsageError('--store names a file that does not exist');
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
