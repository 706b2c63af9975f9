import { type LoggerAdopter, loggerAdopter } from '../loggers.ts';
import { SharedCopies } from '../shared-copies.ts';
import type { Source } from '../types.ts';
import { findWinston, WinstonCopy, type WinstonLogger } from './copy.ts';

/** The default meta that names a logger. */
const META: readonly string[] = ['label', 'service', 'module'];

/** The key is the prototype of the loggers. */
const copies = new SharedCopies<WinstonCopy>();

const isModule = (exports: unknown): exports is object =>
  typeof exports === 'object' && exports !== null && 'Container' in exports && 'createLogger' in exports;

export const WINSTON: Source = {
  kind: 'winston',
  option: 'winston',
  modules: [{ name: 'winston', versions: '>=3 <4', file: 'lib/winston.js' }],
  recognizes: (exports) => isModule(exports) && findWinston(exports) !== undefined,
  adopt(exports, { version }, adoption) {
    const prototype = isModule(exports) ? findWinston(exports) : undefined;
    if (prototype === undefined) throw new Error(`winston ${version} exports something unknown`);
    const adopter = loggerAdopter(adoption, META, version);
    const Container: unknown = Reflect.get(exports as object, 'Container');
    return use(prototype, adopter, (copy) => copy.adoptAll(adopter, Container));
  },
  isLogger: (logger) => findWinston(logger) !== undefined,
  adoptLogger(logger, { category }, adoption) {
    const prototype = findWinston(logger);
    const adopter = loggerAdopter(adoption, META);
    return prototype && use(prototype, adopter, (copy) => copy.adopt(logger as WinstonLogger, category, adopter));
  },
};

function use(prototype: object, adopter: LoggerAdopter, begin: (copy: WinstonCopy) => void): () => void {
  return copies.use(prototype, () => new WinstonCopy(prototype), adopter, begin);
}
