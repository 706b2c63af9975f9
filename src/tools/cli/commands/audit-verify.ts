import { createReadStream, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStore } from '../../../store/open.ts';
import { addExported, type ExportedRecords } from '../../../trail/log-record.ts';
import { type PublicKeys, parsePublicKeys } from '../../../trail/signature.ts';
import { type Checkpoint, createVerifier, type Verification } from '../../../trail/verify.ts';
import type { AuditEntry } from '../../../wire/audit-messages.ts';
import { isRdcpError } from '../../../wire/errors.ts';
import { given, parsedJson } from '../../../wire/json-text.ts';
import { parseTimestamp } from '../../../wire/time.ts';
import { counted, processesText } from '../../../wire/words/count.ts';
import { everyPage } from '../../client/audit.ts';
import type { RdcpClient } from '../../client/client.ts';
import { askedForMs } from '../../client/passing.ts';
import { type Command, type Terminal, text, UsageError, type Values } from '../command.ts';
import { CONNECTION_OPTIONS, connect } from '../connection.ts';
import { assertReadable, present, readText } from '../options.ts';
import { updateFile } from '../private-file.ts';

export const auditVerify: Command = {
  summary: 'detect entries that were changed, moved, added or removed; exit code 1 if any were',
  options: {
    store: {
      value: 'STORE',
      help: 'read the trail from sqlite:FILE, redis://HOST or postgres://HOST instead of a service',
    },
    checkpoint: { value: 'ID:N:HASH', help: 'entry N of process ID must exist with this hash' },
    checkpoints: { value: 'FILE', help: 'file with checkpoints, one per line' },
    records: { value: 'FILE', help: 'exported log records of the trail, as JSON lines (OTLP or single records)' },
    service: { value: 'NAME', help: 'use only exported records with this service.name' },
    'public-key': { value: 'FILE', help: 'Ed25519 public keys (PEM) that every process must sign with' },
    'signed-since': { value: 'WHEN', help: 'entries before 2026-01-31T00:00:00.000Z need no signature' },
    'save-checkpoints': { value: 'FILE', help: 'write the newest checkpoint of each process, if the trail is whole' },
    ...CONNECTION_OPTIONS,
  },
  notes: [
    'The trail alone does not reveal that its newest entries were deleted. Compare it with evidence that is stored elsewhere:',
    '  --checkpoints  saved by an earlier run (--save-checkpoints), or from the log records rdcp.audit.checkpoint',
    '  --records      exported log records of the entries and checkpoints',
    'docs/audit.md in the repository of the package says what each of them detects.',
  ],
  examples: ['rdcp audit verify', 'rdcp audit verify --store sqlite:shop.sqlite --checkpoints F --save-checkpoints F'],
  run: async (terminal, values) => {
    const file = text(values, 'records');
    const service = text(values, 'service');
    if (service !== undefined && file === undefined) throw new UsageError('--service needs --records');
    const records = file === undefined ? undefined : await readRecords(terminal, file, service);
    if (records !== undefined && records.checkpoints.length + records.waiting.size === 0) {
      const whose = service === undefined ? '' : ` of service ${service}`;
      terminal.note(`rdcp: --records: ${file} has no log record of the trail${whose}: nothing was compared`);
    }
    const checkpoints = [...givenCheckpoints(values), ...(records?.checkpoints ?? [])];
    const keys = givenKeys(values);
    const verifier = createVerifier({
      checkpoints,
      ...(records && { waiting: records.waiting }),
      keys,
      signedSince: givenInstant(values, 'signed-since'),
      now: terminal.now(),
    });
    for await (const entry of trail(terminal, values)) verifier.see(entry);
    const found = verifier.finish();
    const whole = found.faults === 0 && found.cut.length === 0 && found.lost.length === 0;
    const unchecked = uncheckedOf({ evidence: checkpoints.length > 0, signed: keys !== undefined });
    present(terminal, values, { whole, ...found, unchecked: [unchecked] }, () => {
      showVerification(terminal, found, whole);
      if (whole) terminal.note(`Not checked: ${unchecked}.`);
    });
    const saved = text(values, 'save-checkpoints');
    if (whole && saved !== undefined) await writeCheckpoints(saved, found.heads);
    return whole ? 0 : 1;
  },
};

function trail(terminal: Terminal, values: Values) {
  const store = text(values, 'store');
  if (store === undefined) return trailOfServer(connect(terminal, values));
  if (text(values, 'url') !== undefined) throw new UsageError('--store and --url cannot be combined');
  return trailOfStore(store);
}

function givenCheckpoints(values: Values): Checkpoint[] {
  const one = text(values, 'checkpoint');
  const file = text(values, 'checkpoints');
  // A job that saves and reads the same file has no file on its first run.
  const first = file !== undefined && file === text(values, 'save-checkpoints') && !existsSync(file);
  return [
    ...(one === undefined ? [] : [parseCheckpoint(one, '--checkpoint')]),
    ...(file === undefined || first ? [] : readCheckpoints(file)),
  ];
}

function givenKeys(values: Values): PublicKeys | undefined {
  const file = text(values, 'public-key');
  if (file === undefined) {
    if (text(values, 'signed-since') !== undefined) throw new UsageError('--signed-since needs --public-key');
    return undefined;
  }
  const keys = parsePublicKeys(readText(file, '--public-key'));
  if (keys === undefined) throw new UsageError(`--public-key: ${file} must hold Ed25519 public keys (PEM)`);
  return keys;
}

function givenInstant(values: Values, name: string): number | undefined {
  const value = text(values, name);
  const instant = parseTimestamp(value ?? '');
  if (value === undefined || instant !== undefined) return instant;
  throw new UsageError(`--${name} must be a time such as 2026-01-31T00:00:00.000Z`);
}

function showVerification(terminal: Terminal, found: Verification, whole: boolean): void {
  const { entries, heads, faults, first, cut, lost, pruned } = found;
  const count = `${counted(entries, 'entry', 'entries')} of ${processesText(heads.length)}`;
  const dropped = pruned ? '; older entries were dropped when their retention ended' : '';
  terminal.say(whole ? `The trail is whole: ${count}${dropped}.` : `The trail is NOT whole: ${count}.`);
  if (first !== undefined) {
    const { id, timestamp, compliance } = first.entry;
    const where = `entry ${compliance.sequence} of process ${compliance.instanceId} (${id}, ${timestamp})`;
    terminal.say(`First fault: ${where}: ${first.message}.`);
    if (faults > 1) terminal.say(`${faults} faults in total.`);
  }
  for (const { instanceId, sequence } of cut) {
    const left = heads.find((head) => head.instanceId === instanceId)?.sequence;
    const had = `it had written up to entry ${sequence}`;
    if (left === undefined) terminal.say(`Deleted: all entries of process ${instanceId}; ${had}.`);
    else if (left < sequence) terminal.say(`Deleted: entries of process ${instanceId} after entry ${left}; ${had}.`);
    else terminal.say(`Missing: entry ${sequence} of process ${instanceId}; retention did not drop it.`);
  }
  for (const id of lost) terminal.say(`Missing: entry ${id}; its log record was exported before the entry was stored.`);
}

/** Manipulations that this run cannot detect. */
function uncheckedOf({ evidence, signed }: { readonly evidence: boolean; readonly signed: boolean }): string {
  const atTheEnd = `entries ${signed ? 'deleted' : 'deleted, added or rewritten'} at the end of a process's chain`;
  if (evidence) return `${atTheEnd}, after its last checkpoint or record`;
  const needs = 'this needs checkpoints or records that are stored elsewhere (--checkpoints, --records)';
  return `${atTheEnd}, and processes whose entries were all deleted: ${needs}`;
}

/** Entries per page. Only one page is in memory, however long the trail is. */
const PAGE = 1000;
/** A few pages may be empty while retention drops their entries. */
const MOST_EMPTY_PAGES = 50;

function trailOfServer(client: RdcpClient): AsyncGenerator<AuditEntry, void, undefined> {
  let empty = 0;
  return everyPage(async (cursor) => {
    const request = { limit: PAGE, ...given({ cursor }) };
    const { entries, tenant, otelrdcp_tenants, otelrdcp_next: next } = await patiently(() => client.audit(request));
    if (tenant?.scope === 'tenant-isolated' || otelrdcp_tenants !== undefined) {
      throw new UsageError('this credential shows the trail of some tenants only: use a credential without a tenant');
    }
    empty = entries.length === 0 ? empty + 1 : 0;
    if (empty === MOST_EMPTY_PAGES) throw new Error(`the server answered ${empty} empty pages in a row`);
    return { entries, next };
  });
}

async function* trailOfStore(url: string): AsyncGenerator<AuditEntry, void, undefined> {
  if (!/^(rediss?|postgres|postgresql):/.test(url)) {
    if (!/^sqlite:./.test(url)) throw new UsageError('--store must be sqlite:FILE, redis://HOST or postgres://HOST');
    // SQLite would create a missing file.
    if (!existsSync(url.slice('sqlite:'.length))) throw new UsageError('--store: the file does not exist');
  }
  const store = openStore(url);
  try {
    yield* everyPage(async (cursor) => store.queryAudit({ limit: PAGE, ...given({ cursor }) }));
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
function parseCheckpoint(text: string, place: string): Checkpoint {
  const [, instanceId, sequence, hash, retainUntil] = FORM.exec(text) ?? [];
  const misspelt = retainUntil !== undefined && parseTimestamp(retainUntil) === undefined;
  if (instanceId === undefined || hash === undefined || misspelt) {
    throw new UsageError(`${place} must be INSTANCE:SEQUENCE:HASH or INSTANCE:SEQUENCE:HASH:RETAIN_UNTIL`);
  }
  return { instanceId, sequence: Number(sequence), hash, ...given({ retainUntil }) };
}

function readCheckpoints(file: string): Checkpoint[] {
  return readText(file, '--checkpoints')
    .split('\n')
    .map((line, index) => ({ text: line.trim(), place: `--checkpoints: line ${index + 1} of ${file}` }))
    .filter(({ text }) => text !== '')
    .map(({ text, place }) => parseCheckpoint(text, place));
}

function writeCheckpoints(file: string, checkpoints: readonly Checkpoint[]): Promise<void> {
  const lines = checkpoints.map(({ instanceId, sequence, hash, retainUntil }) => {
    return `${[instanceId, sequence, hash, ...(retainUntil === undefined ? [] : [retainUntil])].join(':')}\n`;
  });
  return updateFile(file, () => lines.join(''));
}

/** JSON lines as the Collector's file exporter writes them, or one JSON document. @throws {UsageError} for a line that is not JSON */
async function readRecords(terminal: Terminal, file: string, service?: string): Promise<ExportedRecords> {
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
