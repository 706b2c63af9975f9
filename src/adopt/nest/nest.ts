import { type LoggerAdopter, loggerAdopter } from '../loggers.ts';
import type { AdoptedModule, Source } from '../types.ts';
import { givenContext, NestAdapterCopy, type NestCommon, NestCopy, ownContext } from './loggers.ts';

interface Class {
  readonly prototype: object;
}

interface Adapter {
  readonly PinoLogger?: Class;
  readonly Logger?: Class;
  readonly WinstonLogger?: Class;
}

export const NEST: Source = {
  kind: 'nest',
  option: 'nest',
  modules: [
    { name: '@nestjs/common', versions: '>=10 <12', file: 'index.js' },
    { name: '@nestjs/common', versions: '>=12 <13', file: 'index.js', esm: true },
    ...['services/logger.service.js', 'services/console-logger.service.js'].map(
      (file): AdoptedModule => ({
        name: '@nestjs/common',
        versions: '>=12 <13',
        file,
        esm: true,
        edit: withoutContextField,
      }),
    ),
    { name: 'nestjs-pino', versions: '>=3 <5', file: 'index.js' },
    { name: 'nestjs-pino', versions: '>=5 <6', file: 'dist/cjs/index.js' },
    { name: 'nestjs-pino', versions: '>=5 <6', file: 'dist/esm/index.js', esm: true },
    { name: 'nest-winston', versions: '>=1.9 <3', file: 'dist/winston.classes.js' },
  ],
  recognizes: isNest,
  adopt(exports, { name, version }, adoption) {
    const adopter = loggerAdopter(adoption, [], version);
    if (name !== '@nestjs/common') return adoptAdapter(exports as Adapter, adopter);
    if (!isNest(exports)) throw new Error(`@nestjs/common ${version} has no Logger`);
    const copy = new NestCopy(exports, adopter);
    return () => copy.restore();
  },
};

function isNest(exports: unknown): exports is NestCommon {
  const { Logger, ConsoleLogger } = Object(exports) as Partial<NestCommon>;
  return typeof Logger === 'function' && typeof ConsoleLogger === 'function';
}

function adoptAdapter({ PinoLogger, Logger, WinstonLogger }: Adapter, adopter: LoggerAdopter): () => void {
  const copies = [PinoLogger, Logger, WinstonLogger].flatMap((each) =>
    each === undefined ? [] : new NestAdapterCopy(each, each === PinoLogger ? ownContext : givenContext, adopter),
  );
  return () => {
    for (const copy of copies) copy.restore();
  };
}

/**
 * Nest 12 declares `context` as a class field, which a setter of the prototype does not see. Without the declaration the
 * constructor's assignment makes the same property, as in Nest 11.
 */
function withoutContextField(source: string): string {
  return source.replace(/^ +context;$/m, '');
}
