import { LEVEL } from '../gate/levels.ts';
import { DEBUG_LEVELS } from './loggers.ts';

/** Usual names of levels, from the most urgent, and where they stand. */
const NAMES: readonly (readonly [name: string, level: number])[] = [
  ['error', LEVEL.error],
  ['warn', LEVEL.warn],
  ['warning', LEVEL.warn],
  ['info', LEVEL.info],
  ['debug', LEVEL.debug],
  ['trace', LEVEL.trace],
  ['silly', LEVEL.silly],
];

/**
 * Where a level of a logger stands among ours (`gate/levels.ts`): with the most urgent one of the usual names that it reaches.
 * Where the logger has no level `error`, all that is no debug output counts as errors, which are never held back.
 * @param names of the logger's levels
 * @param isDebug whether lines of the level are debug output
 * @param reaches whether the level is at least as urgent as the one of that name
 */
export function levelAmong(
  names: { readonly [name: string]: unknown },
  isDebug: boolean,
  reaches: (name: string) => boolean,
): number {
  const known = NAMES.filter(([name]) => Object.hasOwn(names, name));
  const [, found] = known.find(([name]) => reaches(name)) ?? [];
  if (isDebug) {
    const hasLower = known.some(([name]) => DEBUG_LEVELS.has(name));
    return Math.min(found ?? (hasLower ? LEVEL.silly : LEVEL.debug), LEVEL.debug);
  }
  return Object.hasOwn(names, 'error') ? Math.max(found ?? LEVEL.info, LEVEL.info) : LEVEL.error;
}
