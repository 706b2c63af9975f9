import { type BigIntStats, readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';

/**
 * Reads after a change even where nothing else seems to have changed: two writes within one tick of the file system's
 * clock leave the same stamp when they leave the same size.
 */
const SETTLING_READS = 4;

/** A file that cannot be read, and why in one word: `ENOENT`. */
export type Unreadable<K> = (key: K, code: string, cause: unknown) => Error;

/**
 * Some files, whose texts are read again when they change. They are to be polled, because change notifications do not arrive on
 * network file systems and many container mounts.
 */
export class FileChanges<K extends string> {
  readonly #files: readonly (readonly [key: K, path: string])[];
  readonly #unreadable: Unreadable<K>;
  #stamp = '';
  #settling = SETTLING_READS;

  constructor(files: readonly (readonly [key: K, path: string])[], unreadable: Unreadable<K>) {
    this.#files = files;
    this.#unreadable = unreadable;
  }

  /** @throws what `unreadable` makes of it */
  readSync(): Readonly<Record<K, string>> {
    return textsOf(
      this.#files.map(([key, path]) => {
        try {
          return [key, readFileSync(path, 'utf8')];
        } catch (cause) {
          throw this.#failure(key, cause);
        }
      }),
    );
  }

  /**
   * Resolves with the texts of all files where one may have changed since the last look, else with `undefined`.
   * @param always reads them in any case
   */
  async look(always = false): Promise<Readonly<Record<K, string>> | undefined> {
    const stamps = await this.#each((path) => stat(path, { bigint: true }));
    const stamp = stamps.map(([, each]) => stampOf(each)).join('\n');
    if (stamp !== this.#stamp) this.lookCloser();
    if (this.#settling === 0 && !always) return undefined;
    this.#settling = Math.max(0, this.#settling - 1);
    this.#stamp = stamp;
    return textsOf(await this.#each((path) => readFile(path, 'utf8')));
  }

  /** Has the next looks read the files in any case: what the last one brought was of no use. */
  lookCloser(): void {
    this.#settling = SETTLING_READS;
  }

  #each<T>(read: (path: string) => Promise<T>): Promise<[K, T][]> {
    return Promise.all(
      this.#files.map(async ([key, path]): Promise<[K, T]> => {
        try {
          return [key, await read(path)];
        } catch (cause) {
          throw this.#failure(key, cause);
        }
      }),
    );
  }

  #failure(key: K, cause: unknown): Error {
    return this.#unreadable(
      key,
      cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error',
      cause,
    );
  }
}

function textsOf<K extends string>(entries: readonly (readonly [K, string])[]): Record<K, string> {
  return Object.fromEntries(entries) as Record<K, string>;
}

function stampOf({ mtimeNs, ctimeNs, size, ino }: BigIntStats): string {
  return [mtimeNs, ctimeNs, size, ino].join(' ');
}
