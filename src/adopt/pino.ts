import { type LoggerNames, loggerAdopter } from './loggers.ts';
import { PinoCopy } from './pino-copy.ts';
import { findPino, type PinoLogger } from './pino-logger.ts';
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
  recognizes: (exports) => typeof exports === 'function' && 'stdSerializers' in exports && 'symbols' in exports,
  adopt(exports, { version }, adoption) {
    const make = exports as (options: object, stream: object) => unknown;
    const parts = typeof make === 'function' ? findPino(make({ level: 'silent' }, { write: () => true })) : undefined;
    if (parts === undefined) throw new Error(`pino ${version} exports something unknown`);
    const adopter = loggerAdopter(adoption, namesOf(adoption), version === '' ? undefined : version);
    return copies.use(
      parts.prototype,
      () => new PinoCopy(parts),
      (copy) => copy.adoptAll(adopter),
      (copy) => copy.release(adopter),
    );
  },
  isLogger: (logger) => findPino(logger) !== undefined,
  adoptLogger(logger, { category }, adoption) {
    const parts = findPino(logger);
    if (parts === undefined) return undefined;
    const adopter = loggerAdopter(adoption, namesOf(adoption), undefined);
    return copies.use(
      parts.prototype,
      () => new PinoCopy(parts),
      (copy) => copy.adopt(logger as PinoLogger, category, adopter),
      (copy) => copy.release(adopter),
    );
  },
};

function namesOf({ options }: Adoption): LoggerNames {
  const given = typeof options.pino === 'object' ? options.pino.bindings : undefined;
  return given ?? BINDINGS;
}
