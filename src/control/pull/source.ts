import { readFileSync, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { failureCode, SettingFault } from '../../wire/errors.ts';

export const MAX_BYTES = 65_536;

export interface Source {
  /** Name of its setting, for messages. */
  readonly field: string;
  /**
   * Returns the document; `undefined` where there is none.
   * @throws {SettingFault} when that cannot be known
   */
  read(): Promise<string | undefined>;
}

export function tooLarge(): SettingFault {
  return new SettingFault(`has more than ${MAX_BYTES} bytes`);
}

/** Read at once the first time, so that a job that lives for seconds has its lines once it first waits for anything; later in the background. */
export function fileSource(path: string): Source {
  let isFirst = true;
  return {
    field: 'pull.file',
    async read() {
      const isNow = isFirst;
      isFirst = false;
      try {
        // A pipe would be waited for.
        const found = isNow ? statSync(path) : await stat(path);
        if (!found.isFile()) throw new SettingFault('is not a file');
        if (found.size > MAX_BYTES) throw tooLarge();
        return isNow ? readFileSync(path, 'utf8') : await readFile(path, 'utf8');
      } catch (error) {
        if (error instanceof SettingFault) throw error;
        const code = failureCode(error);
        if (code === ' (ENOENT)' || code === ' (ENOTDIR)') return undefined;
        throw new SettingFault(`cannot be read${code}`);
      }
    },
  };
}
