import { SCOPES, type Scope } from '../protocol/constants.ts';
import { type Option, UsageError } from './command.ts';

export const SCOPES_OPTION = {
  type: 'string',
  value: 'A,B',
  help: `any of ${SCOPES.join(', ')}`,
} as const satisfies Option;

/** @throws {UsageError} for an unknown scope */
export function scopesOf(list: string): Scope[] {
  const names = new Set(list.split(',').map((name) => name.trim()));
  const scopes = SCOPES.filter((scope) => names.has(scope));
  if (scopes.length !== names.size)
    throw new UsageError(`--scopes must be a comma-separated list of ${SCOPES.join(', ')}`);
  return scopes;
}
