import { type BigIntStats, readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { z } from 'zod';
import { type ApiKeyRecord, apiKeyRecordSchema } from '../config.ts';
import { isRdcpError, RdcpError } from '../errors.ts';
import { firstIssue } from '../protocol/issues.ts';
import { type KeySet, type KeySource, keySet } from './key-set.ts';

const POLL_MS = 500;
/**
 * Reads after a change even where nothing else seems to have changed: two writes within one tick of the file system's
 * clock leave the same stamp when they leave the same size.
 */
const SETTLING_READS = 4;

const keysFileSchema = z.strictObject({ keys: z.array(apiKeyRecordSchema) });

export interface KeysFileOptions {
  /**
   * Told once when the file can no longer be used (gone, half-written, wrong), and again for another problem. The
   * message is one line; the last good keys stay in force.
   */
  readonly report?: (error: RdcpError) => void;
}

export interface KeysFile extends KeySource {
  /** Reads the file now, instead of at the next look. */
  refresh(): Promise<void>;
}

/**
 * The records of a keys file.
 * @param name what to call the file in messages
 * @throws {RdcpError} `RDCP_CONFIG_INVALID`, one line that names file, field and problem
 */
export function parseKeysFile(text: string, name: string): ApiKeyRecord[] {
  const result = keysFileSchema.safeParse(parseJson(text, name));
  if (!result.success) {
    const { field, message } = firstIssue(result.error);
    throw invalid(name, `${field === '' ? 'the file' : field} ${message}`, field);
  }
  return result.data.keys;
}

/**
 * Opens a keys file: `{ "keys": [record, …] }`. The file is looked at twice a second and read again when it changed. It
 * is polled because change notifications do not arrive on network file systems and many container mounts.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` when the file cannot be read or is wrong at the start
 */
export function openKeysFile(path: string, { report = () => {} }: KeysFileOptions = {}): KeysFile {
  const name = basename(path);
  let text = readAtStart(path, name);
  let keys = load(text, name);
  let stamp = '';
  let settling = SETTLING_READS;
  let problem = '';
  let reading: Promise<void> | undefined;

  const adopt = (read: string) => {
    if (read !== text || problem !== '') {
      keys = load(read, name);
      text = read;
    }
    problem = '';
  };

  const look = async (always: boolean) => {
    try {
      const seen = stampOf(await stat(path, { bigint: true }));
      if (seen !== stamp) settling = SETTLING_READS;
      if (settling === 0 && !always) return;
      settling = Math.max(0, settling - 1);
      stamp = seen;
      adopt(await readFile(path, 'utf8'));
    } catch (cause) {
      const error = isRdcpError(cause) ? cause : unreadable(name, cause);
      settling = SETTLING_READS;
      if (error.message !== problem) report(error);
      problem = error.message;
    }
  };

  const refresh = async (always: boolean) => {
    // A look that is under way may have read before the caller's change.
    if (always) await reading;
    reading ??= look(always).finally(() => {
      reading = undefined;
    });
    await reading;
  };

  const timer = setInterval(() => void refresh(false), POLL_MS);
  timer.unref();
  return { find: (hash) => keys.get(hash), refresh: () => refresh(true), close: () => clearInterval(timer) };
}

function load(text: string, name: string): KeySet {
  const records = parseKeysFile(text, name);
  try {
    return keySet(records, 'keys');
  } catch (error) {
    throw isRdcpError(error) ? invalid(name, error.message, String(error.details?.field)) : error;
  }
}

function readAtStart(path: string, name: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw unreadable(name, cause);
  }
}

function parseJson(text: string, name: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (cause) {
    throw invalid(name, 'the file is not JSON', '', cause);
  }
}

function stampOf({ mtimeNs, ctimeNs, size, ino }: BigIntStats): string {
  return [mtimeNs, ctimeNs, size, ino].join(' ');
}

function unreadable(name: string, cause: unknown): RdcpError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown reason';
  return invalid(name, `the file cannot be read (${code})`, '', cause);
}

function invalid(name: string, problem: string, field: string, cause?: unknown): RdcpError {
  return new RdcpError('RDCP_CONFIG_INVALID', `keys file ${name}: ${problem}`, { details: { field }, cause });
}
