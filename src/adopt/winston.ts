import { loggerAdopter } from './loggers.ts';
import { SharedCopies } from './shared-copies.ts';
import type { Adoption, Source } from './types.ts';
import { findWinston, WinstonCopy, type WinstonLogger } from './winston-copy.ts';

/** The default meta that names a logger. */
const META: readonly string[] = ['label', 'service', 'module'];

/** By the prototype of the loggers. */
const copies = new SharedCopies<WinstonCopy>();

export const WINSTON: Source = {
  kind: 'winston',
  option: 'winston',
  modules: [{ name: 'winston', versions: '>=3 <4', file: 'lib/winston.js' }],
  adopt(exports, { version }, adoption) {
    const prototype = findWinston(exports);
    if (prototype === undefined) throw new Error(`winston ${version} exports something unknown`);
    return use(prototype, adoption, version, Reflect.get(exports as object, 'Container')).stop;
  },
};

/**
 * Adopts a logger, and the other loggers of its copy of winston. Returns a function that puts everything back;
 * `undefined` if it is no logger of winston.
 * @param name of the logger's category. @default by its default meta
 */
export function adoptWinstonLogger(
  logger: unknown,
  name: string | undefined,
  adoption: Adoption,
): (() => void) | undefined {
  const prototype = findWinston(logger);
  if (prototype === undefined) return undefined;
  const { copy, stop } = use(prototype, adoption);
  copy.adopt(logger as WinstonLogger, name);
  return stop;
}

function use(prototype: object, adoption: Adoption, version?: string, Container?: unknown) {
  return copies.use(
    prototype,
    () => new WinstonCopy(prototype),
    (copy) => copy.start(loggerAdopter(adoption, META, version), Container),
  );
}
