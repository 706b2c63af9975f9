import { readFileSync } from 'node:fs';
import { UsageError } from './command.ts';

const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EACCES: 'may not be read by this user',
  EISDIR: 'is a directory',
};

/**
 * The text of a file that an option names.
 * @throws {UsageError} one line with the option and the path
 */
export function readText(file: string, option: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    throw new UsageError(`${option}: ${file} ${PROBLEMS[code] ?? `cannot be read (${code})`}`);
  }
}
