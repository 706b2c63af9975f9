import { gate } from '../gate/gate.ts';
import { isCategoryName } from '../wire/names.ts';
import { processAdoption } from './process.ts';
import type { AdoptLoggerOptions } from './types.ts';

/**
 * Puts a logger or a whole logging library under control: what was bundled, so that no hook can find it, and loggers that
 * nothing here knows. Takes effect while a remote control of the process is enabled, and without the option `adopt`.
 * @param loggerOrModule what `require` or `import` of a known library returns, one of its loggers, or an object with
 * `getLevel` and `setLevel`, or with `level`
 * @returns a function that puts everything back
 * @throws {TypeError} if it is none of these, or if an option is invalid
 */
export function adopt(loggerOrModule: object, options: AdoptLoggerOptions = {}): () => void {
  const { category } = options;
  if (category !== undefined && !isCategoryName(category)) {
    throw new TypeError(`adopt: category must be a category name such as SQL_POOL`);
  }
  return processAdoption(gate).adopt(loggerOrModule, options);
}
