import { type BigIntStats, readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { type Condition, UNWATCHED } from '../conditions.ts';
import { isRdcpError, RdcpError } from '../errors.ts';

const POLL_MS = 500;
/**
 * Reads after a change even where nothing else seems to have changed: two writes within one tick of the file system's
 * clock leave the same stamp when they leave the same size.
 */
const SETTLING_READS = 4;

export interface WatchedFileOptions<T> {
  /** What messages call it: its kind and its base name, never its path. */
  readonly name: string;
  /** @throws {RdcpError} for a text that cannot be used */
  readonly load: (text: string) => T;
  /** Holds while the file cannot be used (gone, half-written, wrong); what was read last stays in force. */
  readonly condition?: Condition | undefined;
}

export interface WatchedFile<T> {
  /** What the file held when it could last be used. */
  readonly value: T;
  /** Reads the file now, instead of at the next look. */
  refresh(): Promise<void>;
  close(): void;
}

/**
 * Opens a file that is looked at twice a second and read again when it changed. It is polled because change notifications
 * do not arrive on network file systems and many container mounts.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` when the file cannot be read or is wrong at the start
 */
export function watchFile<T>(
  path: string,
  { name, load, condition = UNWATCHED }: WatchedFileOptions<T>,
): WatchedFile<T> {
  let text = readAtStart(path, name);
  let value = load(text);
  let stamp = '';
  let settling = SETTLING_READS;
  let failed = false;
  let reading: Promise<void> | undefined;

  const adopt = (read: string) => {
    if (read !== text || failed) {
      value = load(read);
      text = read;
    }
    failed = false;
    condition.end();
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
      settling = SETTLING_READS;
      failed = true;
      condition.begin((isRdcpError(cause) ? cause : unreadable(name, cause)).message);
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
  return {
    get value() {
      return value;
    },
    refresh: () => refresh(true),
    close: () => clearInterval(timer),
  };
}

function readAtStart(path: string, name: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw unreadable(name, cause);
  }
}

function stampOf({ mtimeNs, ctimeNs, size, ino }: BigIntStats): string {
  return [mtimeNs, ctimeNs, size, ino].join(' ');
}

function unreadable(name: string, cause: unknown): RdcpError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown reason';
  return new RdcpError('RDCP_CONFIG_INVALID', `${name}: the file cannot be read (${code})`, {
    details: { field: '' },
    cause,
  });
}
