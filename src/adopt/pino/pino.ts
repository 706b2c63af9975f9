import { type LoggerAdopter, type LoggerNames, loggerAdopter } from '../loggers.ts';
import { SharedCopies } from '../shared-copies.ts';
import type { Adoption, Source } from '../types.ts';
import { PinoCopy } from './copy.ts';
import { findPino, type PinoLogger, type PinoParts } from './logger.ts';

/** The bindings that name a logger. */
const BINDINGS: readonly string[] = ['name', 'module', 'component', 'logger'];

/** The key is the prototype of the loggers. */
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
    const adopter = loggerAdopter(adoption, namesOf(adoption), version);
    return use(parts, adopter, (copy) => copy.adoptAll(adopter));
  },
  isLogger: (logger) => findPino(logger) !== undefined,
  adoptLogger(logger, { category }, adoption) {
    const parts = findPino(logger);
    const adopter = loggerAdopter(adoption, namesOf(adoption));
    return parts && use(parts, adopter, (copy) => copy.adopt(logger as PinoLogger, category, adopter));
  },
};

function use(parts: PinoParts, adopter: LoggerAdopter, begin: (copy: PinoCopy) => void): () => void {
  return copies.use(parts.prototype, () => new PinoCopy(parts), adopter, begin);
}

function namesOf({ options }: Adoption): LoggerNames {
  const given = typeof options.pino === 'object' ? options.pino.bindings : undefined;
  return given ?? BINDINGS;
}
