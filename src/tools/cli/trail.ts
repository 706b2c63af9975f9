import { createReadStream, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStore } from '../../store/open.ts';
import { addExported, type ExportedRecords } from '../../trail/log-record.ts';
import type { Checkpoint } from '../../trail/verify.ts';
import type { AuditEntry } from '../../wire/audit-messages.ts';
import { isRdcpError } from '../../wire/errors.ts';
import { parsedJson } from '../../wire/json-text.ts';
import { parseTimestamp } from '../../wire/time.ts';
import type { RdcpClient } from '../client/client.ts';
import { askedForMs } from '../client/passing.ts';
import { type Terminal, UsageError } from './command.ts';
import { assertReadable, readText } from './options.ts';
import { updateFile } from './private-file.ts';

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

const FORM = /^([a-zA-Z0-9._-]{1,255}):([1-9]\d{0,14}):([0-9a-f]{64})(?::(\S+))?$/;

/** @param place the option, and of a file the line */
export function parseCheckpoint(text: string, place: string): Checkpoint {
  const [, instanceId, sequence, hash, retainUntil] = FORM.exec(text) ?? [];
  const misspelt = retainUntil !== undefined && parseTimestamp(retainUntil) === undefined;
  if (instanceId === undefined || hash === undefined || misspelt) {
    throw new UsageError(`${place} must be INSTANCE:SEQUENCE:HASH or INSTANCE:SEQUENCE:HASH:RETAIN_UNTIL`);
  }
  return { instanceId, sequence: Number(sequence), hash, ...(retainUntil !== undefined && { retainUntil }) };
}

export function readCheckpoints(file: string): Checkpoint[] {
  return readText(file, '--checkpoints')
    .split('\n')
    .map((line, index) => ({ text: line.trim(), place: `--checkpoints: line ${index + 1} of ${file}` }))
    .filter(({ text }) => text !== '')
    .map(({ text, place }) => parseCheckpoint(text, place));
}

export function writeCheckpoints(file: string, checkpoints: readonly Checkpoint[]): Promise<void> {
  return updateFile(file, () => checkpoints.map((checkpoint) => `${formatCheckpoint(checkpoint)}\n`).join(''));
}

function formatCheckpoint({ instanceId, sequence, hash, retainUntil }: Checkpoint): string {
  return [instanceId, sequence, hash, ...(retainUntil === undefined ? [] : [retainUntil])].join(':');
}

/** JSON lines as the Collector's file exporter writes them, or one JSON document. @throws {UsageError} for a line that is not JSON */
export async function readRecords(terminal: Terminal, file: string, service?: string): Promise<ExportedRecords> {
  const records: ExportedRecords = { checkpoints: [], waiting: new Map() };
  let number = 0;
  let unread: number | undefined;
  assertReadable(file, '--records');
  const input = createReadStream(file, 'utf8');
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    number += 1;
    if (line.trim() === '') continue;
    if (unread !== undefined) return wholeDocument(file, unread, service);
    const value = parsedJson(line);
    if (value === undefined) unread = number;
    else addExported(value, records, service);
  }
  if (unread === 1) return wholeDocument(file, unread, service);
  if (unread !== undefined) terminal.note(`--records: line ${unread} of ${file} is incomplete and was skipped`);
  return records;
}

function wholeDocument(file: string, line: number, service: string | undefined): ExportedRecords {
  const value = parsedJson(readText(file, '--records'));
  if (value === undefined) throw new UsageError(`--records: line ${line} of ${file} is not JSON`);
  const records: ExportedRecords = { checkpoints: [], waiting: new Map() };
  addExported(value, records, service);
  return records;
}
