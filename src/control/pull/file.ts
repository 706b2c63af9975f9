import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { failureCode, SettingFault } from '../../wire/errors.ts';
import { MAX_BYTES, type Source, tooLarge } from './source.ts';

// A pipe would be waited for.
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/** Read at once the first time, so that a job that lives for seconds has its lines once it first waits for anything; later in the background. */
export function fileSource(path: string): Source {
  let read: () => string | Promise<string> = () => {
    read = () => readLater(path);
    return readNow(path);
  };
  return {
    field: 'pull.file',
    async read() {
      try {
        return await read();
      } catch (error) {
        if (error instanceof SettingFault) throw error;
        const code = failureCode(error);
        if (code === ' (ENOENT)' || code === ' (ENOTDIR)') return undefined;
        throw new SettingFault(`cannot be read${code}`);
      }
    },
  };
}

function readNow(path: string): string {
  const file = openSync(path, FLAGS);
  try {
    if (!fstatSync(file).isFile()) throw notAFile();
    const buffer = Buffer.alloc(MAX_BYTES + 1);
    return textOf(buffer, readSync(file, buffer));
  } finally {
    closeSync(file);
  }
}

async function readLater(path: string): Promise<string> {
  const file = await open(path, FLAGS);
  try {
    if (!(await file.stat()).isFile()) throw notAFile();
    const buffer = Buffer.alloc(MAX_BYTES + 1);
    return textOf(buffer, (await file.read(buffer)).bytesRead);
  } finally {
    await file.close();
  }
}

function textOf(buffer: Buffer, bytes: number): string {
  if (bytes > MAX_BYTES) throw tooLarge();
  return buffer.toString('utf8', 0, bytes);
}

function notAFile(): SettingFault {
  return new SettingFault('is not a file');
}
