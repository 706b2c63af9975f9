import { closeSync, openSync, readFileSync } from 'node:fs';
import { codeOf } from '../../wire/thrown.ts';
import { UsageError } from './command.ts';

const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EACCES: 'is not readable by this user',
  EISDIR: 'is a directory',
};

/** @throws {UsageError} one line with the option and the path */
export function readText(file: string, option: string): string {
  return reading(file, option, () => readFileSync(file, 'utf8'));
}

/** For a file that is too large to read at once. */
export function assertReadable(file: string, option: string): void {
  reading(file, option, () => closeSync(openSync(file, 'r')));
}

function reading<T>(file: string, option: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const code = codeOf(error) ?? '';
    throw new UsageError(`${option}: ${file} ${PROBLEMS[code] ?? `cannot be read (${code})`}`);
  }
}
