import { type Condition, UNWATCHED } from '../conditions.ts';
import { isRdcpError, RdcpError } from '../errors.ts';
import { FileChanges } from '../file-changes.ts';

const POLL_MS = 500;

export interface WatchedFileOptions<T> {
  /** Kind and base name of the file, for messages. Never its path. */
  readonly name: string;
  /** @throws {RdcpError} for invalid text */
  readonly load: (text: string) => T;
  /** Holds while the file is missing or invalid. The last valid value stays in use. */
  readonly condition?: Condition | undefined;
}

export interface WatchedFile<T> {
  /** The last valid value of the file. */
  readonly value: T;
  /** Reads the file now instead of at the next poll. */
  refresh(): Promise<void>;
  close(): void;
}

/**
 * Opens a file that is looked at twice a second and read again when it changed.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` when the file cannot be read or is wrong at the start
 */
export function watchFile<T>(
  path: string,
  { name, load, condition = UNWATCHED }: WatchedFileOptions<T>,
): WatchedFile<T> {
  const file = new FileChanges([['text', path]], (_key, code, cause) => unreadable(name, code, cause));
  let { text } = file.readSync();
  let value = load(text);
  let failed = false;
  let reading: Promise<void> | undefined;

  const poll = async (always: boolean) => {
    try {
      const read = (await file.look(always))?.text;
      if (read === undefined) return;
      if (read !== text || failed) value = load(read);
      text = read;
      failed = false;
      condition.end();
    } catch (error) {
      file.lookCloser();
      failed = true;
      condition.begin((isRdcpError(error) ? error : unreadable(name, 'unknown error', error)).message);
    }
  };

  const refresh = async (always: boolean) => {
    // A pending poll may have read the file before the caller's change.
    if (always) await reading;
    reading ??= poll(always).finally(() => {
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

function unreadable(name: string, code: string, cause: unknown): RdcpError {
  return new RdcpError('RDCP_CONFIG_INVALID', `${name}: the file cannot be read (${code})`, {
    details: { field: '' },
    cause,
  });
}
