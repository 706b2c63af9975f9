import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { addExported, type ExportedRecords } from '../../trail/log-record.ts';
import { parsedJson } from '../../wire/json-text.ts';
import { type Terminal, UsageError } from './command.ts';
import { assertReadable, readText } from './read-text.ts';

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
