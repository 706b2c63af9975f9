import { text, UsageError, type Values } from './command.ts';

/** An option that is a whole number from 1. @throws {UsageError} for anything else */
export function wholeNumber(values: Values, name: string, most: number): number | undefined {
  const given = text(values, name);
  if (given === undefined) return undefined;
  if (/^\d{1,15}$/.test(given) && Number(given) >= 1 && Number(given) <= most) return Number(given);
  throw new UsageError(`--${name} must be a whole number from 1 to ${most}`);
}
