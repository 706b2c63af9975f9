import { adoptLeveled, leveled } from './leveled.ts';
import type { Adoption, AdoptLoggerOptions, Source } from './types.ts';

/** Patches what was given to `adopt()`. Returns a function that puts everything back, or `undefined` if it stays as it was. */
export type Patch = (adoptionOf: (source: Pick<Source, 'kind' | 'option'>) => Adoption) => (() => void) | undefined;

/**
 * Returns how a module or a logger is patched.
 * @throws {TypeError} if it is neither
 */
export function patchOf(target: object, options: AdoptLoggerOptions, sources: readonly Source[]): Patch {
  const isObject = typeof target === 'function' || (typeof target === 'object' && target !== null);
  const source = isObject && sources.find(({ recognizes, isLogger }) => recognizes?.(target) || isLogger?.(target));
  if (source) {
    const name = source.modules?.[0]?.name ?? source.kind;
    const copy = { name, version: '', url: '', loadedBefore: true };
    return (adoptionOf) =>
      source.recognizes?.(target) === true
        ? source.adopt?.(target, copy, adoptionOf(source))
        : source.adoptLogger?.(target, options, adoptionOf(source));
  }
  const logger = isObject ? leveled(target) : undefined;
  if (logger === undefined) {
    throw new TypeError(
      'adopt: must be a known logging library, one of its loggers, or an object with getLevel and setLevel, or with level',
    );
  }
  const { name } = logger;
  const own = typeof name === 'string' && name !== '' ? name : (options.category ?? 'app');
  return (adoptionOf) => {
    const adoption = adoptionOf({ kind: 'custom', option: 'debug' });
    const category = adoption.category(own);
    return category && adoptLeveled(target, logger, options.level ?? 'debug', category, adoption.failed);
  };
}
