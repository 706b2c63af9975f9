import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { type Condition, UNWATCHED } from '../otel/report/conditions.ts';
import { oneAtATime } from '../store/one-at-a-time.ts';
import { invalidSetting, isRdcpError } from '../wire/errors.ts';
import { codeOf } from '../wire/thrown.ts';
import { timers } from '../wire/time/timers.ts';

/** The caller polls, because change notifications do not arrive on network file systems and many container mounts. */
const POLL_MS = 500;

export interface WatchedFileOptions<T> {
  /** Kind and base name of the file, for messages. Never its path. */
  readonly name: string;
  readonly load: (text: string) => T;
  /** Holds while the file is missing or invalid. The last valid value stays in use. */
  readonly condition?: Condition | undefined;
}

export type WatchedFile<T> = ReturnType<typeof watchFile<T>>;

/** Read twice a second, and loaded when its text changed. @throws {RdcpError} `RDCP_CONFIG_INVALID` if it is wrong at the start */
export function watchFile<T>(path: string, { name, load, condition = UNWATCHED }: WatchedFileOptions<T>) {
  let text = readNow(path, name);
  let value = load(text);
  let failed = false;

  const refresh = oneAtATime(async () => {
    try {
      const found = await readFile(path, 'utf8');
      if (found !== text || failed) value = load(found);
      text = found;
      failed = false;
      condition.end();
    } catch (error) {
      failed = true;
      condition.begin((isRdcpError(error) ? error : unreadable(name, error)).message);
    }
  });

  const timer = timers.setInterval(() => void refresh(), POLL_MS);
  timer.unref();
  return {
    get value() {
      return value;
    },
    // A pending poll may have read the file before the caller's change.
    refresh,
    close: () => timers.clearInterval(timer),
  };
}

function readNow(path: string, name: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw unreadable(name, cause);
  }
}

function unreadable(name: string, cause: unknown) {
  return invalidSetting('', `${name}: the file cannot be read (${codeOf(cause) ?? 'unknown error'})`, cause);
}
