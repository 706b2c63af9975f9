import { type BigIntStats, readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';

/**
 * Further reads after a change: two writes within one tick of the file system's clock have the same timestamp, and cannot be
 * told apart if the size is the same too.
 */
const SETTLING_READS = 4;

/** Creates the error for a file that cannot be read. @param code such as `ENOENT` */
export type Unreadable<K> = (key: K, code: string, cause: unknown) => Error;

/**
 * A set of files that are read again when they change. The caller polls, because change notifications do not arrive on network
 * file systems and many container mounts.
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

  /** @throws the error that `unreadable` creates */
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
   * Resolves with the texts of all files if one may have changed since the last call, else with `undefined`.
   * @param always reads the files even if none changed
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

  /** Makes the next calls read the files even if none changed, because the last texts were unusable. */
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
