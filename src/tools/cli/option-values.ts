import { SCOPES, type Scope } from '../../wire/constants.ts';
import { isIdentifier } from '../../wire/names.ts';
import { parseDuration } from '../../wire/time.ts';
import { type Option, text, UsageError, type Values } from './command.ts';

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
