import { type LoggerNames, loggerAdopter } from './loggers.ts';
import { PinoCopy } from './pino-copy.ts';
import { findPino, type PinoLogger, type PinoParts } from './pino-logger.ts';
import { SharedCopies } from './shared-copies.ts';
import type { Adoption, Source } from './types.ts';

/** The bindings that name a logger. */
const BINDINGS: readonly string[] = ['name', 'module', 'component', 'logger'];

/** By prototype. */
const copies = new SharedCopies<PinoCopy>();

export const PINO: Source = {
  kind: 'pino',
  option: 'pino',
  modules: [{ name: 'pino', versions: '>=8 <11', file: 'pino.js' }],
  adopt(exports, { version }, adoption) {
    const make = exports as (options: object, stream: object) => unknown;
    const parts = typeof make === 'function' ? findPino(make({ level: 'silent' }, { write: () => true })) : undefined;
    if (parts === undefined) throw new Error(`pino ${version} exports something unknown`);
    return use(parts, adoption, version).stop;
  },
};

/**
 * Adopts a logger, and the children and other loggers that its copy of pino makes from now on. Returns a function that
 * puts everything back; `undefined` if it is no logger of pino.
 * @param name of the logger's category. @default by its bindings
 */
export function adoptPinoLogger(
  logger: unknown,
  name: string | undefined,
  adoption: Adoption,
): (() => void) | undefined {
  const parts = findPino(logger);
  if (parts === undefined) return undefined;
  const { copy, stop } = use(parts, adoption, undefined);
  copy.adopt(logger as PinoLogger, name);
  return stop;
}

function use(parts: PinoParts, adoption: Adoption, version: string | undefined) {
  return copies.use(
    parts.prototype,
    () => new PinoCopy(parts),
    (copy) => copy.start(loggerAdopter(adoption, namesOf(adoption), version)),
  );
}

function namesOf({ options }: Adoption): LoggerNames {
  const given = typeof options.pino === 'object' ? options.pino.bindings : undefined;
  return given ?? BINDINGS;
}
