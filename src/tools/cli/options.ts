import { closeSync, openSync, readFileSync } from 'node:fs';
import { SCOPES, type Scope } from '../../wire/constants.ts';
import { isIdentifier } from '../../wire/names.ts';
import { codeOf } from '../../wire/thrown.ts';
import { parseDuration } from '../../wire/time.ts';
import { type Option, type Terminal, text, UsageError, type Values } from './command.ts';

// Values of options in their form. Each is `undefined` for an option that was not given, and a `UsageError` for a value
// that the option does not take.

export function wholeNumber(values: Values, name: string, most: number): number | undefined {
  const given = text(values, name);
  if (given === undefined) return undefined;
  if (/^\d{1,15}$/.test(given) && Number(given) >= 1 && Number(given) <= most) return Number(given);
  throw new UsageError(`--${name} must be a whole number from 1 to ${most}`);
}

export function duration(values: Values, name: string): string | undefined {
  const given = text(values, name);
  if (given === undefined || parseDuration(given) !== undefined) return given;
  throw new UsageError(`--${name} must be a duration such as 30s, 5m or 2h`);
}

export function identifier(values: Values, name: string): string | undefined {
  const given = text(values, name);
  if (given === undefined || isIdentifier(given)) return given;
  throw new UsageError(`--${name} must be 1 to 255 characters of a-z A-Z 0-9 . _ -`);
}

export function oneOf<T extends string>(allowed: readonly T[], values: Values, name: string): T | undefined {
  const given = text(values, name);
  const found = allowed.find((each) => each === given);
  if (given === undefined || found !== undefined) return found;
  throw new UsageError(`--${name} must be one of ${allowed.join(', ')}`);
}

export const SCOPES_OPTION = { value: 'A,B', help: `any of ${SCOPES.join(', ')}` } as const satisfies Option;

export function scopes(values: Values): Scope[] | undefined {
  const given = text(values, 'scopes');
  if (given === undefined) return undefined;
  const names = new Set(given.split(',').map((name) => name.trim()));
  const found = SCOPES.filter((scope) => names.has(scope));
  if (found.length === names.size) return found;
  throw new UsageError(`--scopes must be a comma-separated list of ${SCOPES.join(', ')}`);
}

const FORMATS = ['table', 'json', 'wide'] as const;

/** `wide` is a table with more columns. */
export type Format = (typeof FORMATS)[number];

export const OUTPUT_OPTIONS = {
  output: { short: 'o', value: 'FORMAT', help: `${FORMATS.join(', ')} (default: table)`, completes: FORMATS },
  json: { help: 'the same as -o json' },
} as const satisfies Record<string, Option>;

export function formatOf(values: Values): Format {
  const format = oneOf(FORMATS, values, 'output') ?? (values.json === true ? 'json' : 'table');
  if (values.json === true && format !== 'json') throw new UsageError('--json and --output cannot be combined');
  return format;
}

export function present(terminal: Terminal, values: Values, answer: object, inWords: (wide: boolean) => void): void {
  const format = formatOf(values);
  try {
    if (format === 'json') terminal.json(answer, 2);
    else inWords(format === 'wide');
  } catch (error) {
    // Another server may leave out what a table shows.
    if (!(error instanceof TypeError)) throw error;
    throw new Error('the answer lacks fields that this command shows; -o json prints it unchanged', { cause: error });
  }
}

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
