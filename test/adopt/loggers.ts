import { createRequire, registerHooks } from 'node:module';
import { Writable } from 'node:stream';
import type { TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import util from 'node:util';
import 'reflect-metadata';
import { DEBUG } from '../../src/adopt/debug/debug.ts';
import { DEBUGLOG } from '../../src/adopt/debug/debuglog.ts';
import { watchModules } from '../../src/adopt/hook.ts';
import { NEST } from '../../src/adopt/nest/nest.ts';
import { PINO } from '../../src/adopt/pino/pino.ts';
import { WINSTON } from '../../src/adopt/winston/winston.ts';
import { LEVEL } from '../../src/gate/levels.ts';
import { type AdoptionBench, adoptionBench, type BenchOptions, type Level, loadCopy } from './bench.ts';

// Every logger that can be adopted, described once: what tests say of all of them is said over this table.

export type CreateDebug = typeof import('debug');
export type Pino = typeof import('pino').default;
export type Winston = typeof import('winston');
export type Nest = typeof import('@nestjs/common');
export type Log = (...args: unknown[]) => unknown;

export interface Libraries {
  readonly debug: CreateDebug;
  readonly pino: Pino;
  readonly winston: Winston;
  readonly '@nestjs/common': Nest;
}

export const SOURCES = { debug: DEBUG, pino: PINO, winston: WINSTON, '@nestjs/common': NEST } as const;

/** A fresh copy of a library that is adopted. @param copy the folder that it is in */
export function adopted<Name extends keyof Libraries>(
  t: TestContext,
  name: Name,
  { copy = name, ...options }: BenchOptions & { readonly copy?: string } = {},
) {
  const { exports, version } = loadCopy<Libraries[Name]>(copy);
  const bench = adoptionBench(t, [SOURCES[name]], options);
  const load = () => bench.load(name, version, exports);
  load();
  return { ...bench, exports, version, load };
}

/** The lines of a logger. */
export interface Adopted {
  readonly bench: AdoptionBench;
  readonly category: string;
  /** Writes a line of each level that the logger has. */
  readonly methods: () => Readonly<Partial<Record<Level, Log>>>;
  /** What a guard of the logger answers. Without one, there is none. */
  readonly isEnabled?: (level: Level) => unknown;
  /** What the logger itself has written since it was asked last. */
  readonly written: () => unknown[];
}

export interface LoggerOptions extends BenchOptions {
  /** The logger's own level. `debug` is what `DEBUG` does. @default the last of {@link LoggerKind.own} */
  readonly level?: Level | undefined;
  /** Called when the logger itself has written a line. */
  readonly onWrite?: () => void;
}

/** Where a logger writes by itself. */
export function destination({ onWrite }: LoggerOptions) {
  const lines: unknown[] = [];
  const write = (line: unknown) => {
    lines.push(line);
    onWrite?.();
    return true;
  };
  const stream = new Writable({
    write(chunk, _encoding, done) {
      write(JSON.parse(String(chunk)));
      done();
    },
  });
  return { write, stream, written: () => lines.splice(0) };
}

export interface LoggerKind {
  /** Levels that the logger may have by itself. */
  readonly own: readonly Level[];
  /** The least urgent level that comes out while the category is on. @default every level */
  readonly least?: Level;
  /** Whether its calls are recorded without its guard. @default true */
  readonly recordsAlone?: false;
  /** Whether debug lines that its own level admits are the application's: a category that is off leaves them. @default false */
  readonly leavesAdmitted?: true;
  /** Whether its guard is the same for every tenant and user. @default false */
  readonly hasSharedGuard?: true;
  readonly adopt: (t: TestContext, options?: LoggerOptions) => Adopted | Promise<Adopted>;
}

const require = createRequire(import.meta.url);
export const LEVELS: readonly Level[] = ['silly', 'trace', 'debug', 'info', 'warn', 'error'];

/** @param names of the methods, by the levels that they have among ours */
function methodsOf(logger: object, names: Readonly<Partial<Record<Level, string>>>) {
  const bound = Object.entries(names).map(([level, name]) => {
    const log: Log = (...args) => Reflect.get(logger, name).call(logger, ...args);
    return [level, log];
  });
  return Object.fromEntries(bound) as Partial<Record<Level, Log>>;
}

/** @param how the lines leave: by itself, to a log of the application, or as an instance that was handed over */
function debug(copy: string, how: 'itself' | 'own log' | 'instance' = 'itself'): LoggerKind {
  return {
    ...{ own: ['debug', 'info'], recordsAlone: false, hasSharedGuard: true },
    adopt(t, { level = 'info', ...options } = {}) {
      const { exports: create, version } = loadCopy<CreateDebug>(copy);
      if (level === 'debug') create.enable('cats');
      // It has set this for child processes, and for the copies that are loaded next.
      delete process.env.DEBUG;
      const bench = adoptionBench(t, [DEBUG], options);
      if (how !== 'instance') bench.load('debug', version, create);
      const { write, written } = destination(options);
      t.mock.method(process.stderr, 'write', write);
      const log = create('cats');
      if (how !== 'itself') log.log = (...args: unknown[]) => write([util.format(...args), args]);
      if (how === 'instance') t.after(bench.adopter.adopt(log, {}));
      // debug 2.6.9 makes instances known with their first line.
      log('made known');
      written();
      return {
        ...{ bench, category: 'CATS', written },
        methods: () => ({ debug: log as Log }),
        isEnabled: () => Boolean(log.enabled),
      };
    },
  };
}

const PINO_METHODS = { trace: 'trace', debug: 'debug', info: 'info', warn: 'warn', error: 'error' } as const;
type PinoLogger = import('pino').Logger;

/** @param derive the logger, of one with that level; it is asked for before each line */
export function pino(copy: string, derive = (root: PinoLogger, _level: Level): PinoLogger => root): LoggerKind {
  return {
    own: ['trace', 'debug', 'info', 'warn', 'error'],
    adopt(t, { level = 'error', ...options } = {}) {
      const { exports: make, ...bench } = adopted(t, 'pino', { copy, ...options });
      const { stream, written } = destination(options);
      const root = make({ name: 'cats', level }, stream);
      return {
        ...{ bench, category: 'CATS', written },
        methods: () => methodsOf(derive(root, level), PINO_METHODS),
        isEnabled: (each) => derive(root, level).isLevelEnabled(each),
      };
    },
  };
}

const WINSTON_METHODS = { silly: 'silly', debug: 'debug', info: 'info', warn: 'warn', error: 'error' } as const;
type WinstonLogger = import('winston').Logger;

interface WinstonVariant {
  readonly derive?: (root: WinstonLogger) => WinstonLogger;
  readonly names?: Readonly<Partial<Record<Level, string>>>;
  readonly options?: (winston: Winston) => object;
}

function winston(
  copy: string,
  { derive = (root) => root, names = WINSTON_METHODS, options }: WinstonVariant = {},
): LoggerKind {
  return {
    own: LEVELS.filter((level) => names[level] !== undefined),
    adopt(t, { level = 'error', ...others } = {}) {
      const { exports: library, ...bench } = adopted(t, 'winston', { copy, ...others });
      const { stream, written } = destination(others);
      const root = library.createLogger({
        level: names[level] as string,
        transports: [new library.transports.Stream({ stream })],
        ...options?.(library),
      });
      derive(root);
      return {
        ...{ bench, category: bench.names().at(-1)!, written },
        methods: () => methodsOf(derive(root), names),
        // winston 3.0 has no guards.
        ...('isLevelEnabled' in root && { isEnabled: (each) => derive(root).isLevelEnabled(names[each] as string) }),
      };
    },
  };
}

const NEST_METHODS = { trace: 'verbose', debug: 'debug', info: 'log', warn: 'warn', error: 'error' } as const;

/** Loads a copy of `@nestjs/common` that no other test has. */
export type LoadNest = () => Promise<{ readonly exports: Nest; readonly version: string }>;

let count = 0;

/** Nest 12 is an ECMAScript module: copies differ by their query, and so do the files that they import. */
export const importNest12: LoadNest = async () => {
  const problems: unknown[] = [];
  const copies = registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      const copy = specifier.startsWith('.') && /\?copy=\d+$/.exec(context.parentURL ?? '');
      return copy ? { ...resolved, url: resolved.url + copy[0] } : resolved;
    },
  });
  const unwatch = watchModules(NEST.modules ?? [], {
    loaded: () => {},
    unsupported: ({ name }, version) => problems.push(`${name} ${version}`),
    onlyRequired: () => problems.push('only required'),
    failed: (error) => problems.push(error),
  });
  const { href } = pathToFileURL(require.resolve('nestjs-common-12'));
  const exports = await import(`${href}?copy=${count++}`);
  unwatch();
  copies.deregister();
  if (problems.length > 0) throw new AggregateError(problems, 'Nest 12 was not prepared');
  return { exports, version: require('nestjs-common-12/package.json').version };
};

export const requireNest =
  (copy: string): LoadNest =>
  async () =>
    loadCopy(copy);

/** @param how the lines are written: by a `Logger` with a `ConsoleLogger` behind, or by that alone */
function nest(loadNest: LoadNest, how: 'Logger' | 'ConsoleLogger' = 'Logger'): LoggerKind {
  return {
    own: ['debug', 'info', 'error'],
    async adopt(t, { level = 'error', ...options } = {}) {
      const { exports: common, version } = await loadNest();
      const bench = adoptionBench(t, [NEST], options);
      bench.load('@nestjs/common', version, common);
      const { write, written } = destination(options);
      class Kept extends common.ConsoleLogger {
        protected override printMessages(messages: unknown[]) {
          messages.forEach(write);
        }
      }
      const logLevels = LEVELS.filter((each) => LEVEL[each] >= LEVEL[level] && each in NEST_METHODS).map(
        (each) => NEST_METHODS[each as keyof typeof NEST_METHODS],
      );
      const behind = new Kept(how === 'Logger' ? '' : 'Cats', { logLevels });
      common.Logger.overrideLogger(behind);
      const logger = how === 'Logger' ? new common.Logger('Cats') : behind;
      const names: Readonly<Partial<Record<Level, string>>> = NEST_METHODS;
      return {
        ...{ bench, category: 'CATS', written },
        methods: () => methodsOf(logger, names),
        ...(how === 'ConsoleLogger' && { isEnabled: (each) => behind.isLevelEnabled(names[each] as never) }),
      };
    },
  };
}

const DEBUGLOG_KIND: LoggerKind = {
  ...{ own: ['info'], recordsAlone: false, hasSharedGuard: true },
  adopt(t, { level: _level, ...options } = {}) {
    const bench = adoptionBench(t, [DEBUGLOG], options);
    const log = util.debuglog('cats');
    return {
      ...{ bench, category: 'CATS', written: () => [] },
      methods: () => ({ debug: log as Log }),
      isEnabled: () => log.enabled,
    };
  },
};

/** Ways in which loggers of other libraries keep their level. */
const LEVEL_KEEPERS = {
  'in words': undefined,
  // As bunyan's.
  'in rising numbers': { debug: 20, info: 30, warn: 40, error: 50 },
  // As consola's.
  'in falling numbers': { debug: 4, info: 3, warn: 1, error: 0 },
} as const;

/** A logger of no known library that is handed over. Each method asks for the level, as those of winston and loglevel do. */
function leveled(how: keyof typeof LEVEL_KEEPERS, has: readonly Level[]): LoggerKind {
  const numbers: Readonly<Partial<Record<Level, number>>> | undefined = LEVEL_KEEPERS[how];
  return {
    ...{ own: has.filter((each) => LEVEL[each] >= LEVEL.debug) },
    ...{ least: 'debug', leavesAdmitted: true },
    ...{ recordsAlone: false, hasSharedGuard: true },
    adopt(t, { level = 'error', ...options } = {}) {
      const bench = adoptionBench(t, [], options);
      const { write, written } = destination(options);
      let current: unknown = numbers === undefined ? level : numbers[level];
      const word = () => has.find((each) => current === (numbers?.[each] ?? each)) as Level;
      const set = (value: unknown) => {
        const known = has.find((each) => value === each || value === numbers?.[each]);
        if (known === undefined) throw new Error(`no level ${value}`);
        current = numbers?.[known] ?? known;
      };
      const accessors =
        numbers === undefined
          ? Object.defineProperty({}, 'level', { get: () => current, set, enumerable: true })
          : { getLevel: () => current, setLevel: set };
      const method =
        (each: Level): Log =>
        (message, ...args) =>
          LEVEL[each] >= LEVEL[word()] && write([util.format(message, ...args), message, ...args]);
      const logger = Object.assign(accessors, Object.fromEntries(has.map((each) => [each, method(each)])));
      bench.adopter.adopt(logger, { category: 'CATS' });
      return {
        ...{ bench, category: 'CATS', written },
        methods: () => methodsOf(logger, Object.fromEntries(has.map((each) => [each, each]))),
        isEnabled: (each) => LEVEL[each] >= LEVEL[word()],
      };
    },
  };
}

/** A logger of a known library that was not found by a hook, and is handed over. */
const handedOver = (name: 'pino' | 'winston'): LoggerKind => ({
  own: ['info', 'warn', 'error'],
  adopt(t, { level = 'error', ...options } = {}) {
    const bench = adoptionBench(t, [SOURCES[name]], options);
    const { stream, written } = destination(options);
    const { exports } = loadCopy<Pino & Winston>(name);
    const logger =
      name === 'pino'
        ? exports({ level }, stream)
        : exports.createLogger({ level, transports: [new exports.transports.Stream({ stream })] });
    bench.adopter.adopt(logger, { category: 'CATS' });
    const names = name === 'pino' ? PINO_METHODS : WINSTON_METHODS;
    return { bench, category: 'CATS', written, methods: () => methodsOf(logger, names) };
  },
});

/** A child that stays, made before anything is switched. */
function kept<Logger extends object>(derive: (root: Logger, level: Level) => Logger) {
  const children = new WeakMap<Logger, Logger>();
  return (root: Logger, level: Level = 'error'): Logger => {
    const child = children.get(root) ?? derive(root, level);
    children.set(root, child);
    return child;
  };
}

const unnamed = (root: PinoLogger) => root.child({ request: 1 });

export const LOGGERS = {
  'debug 2.6.9': debug('debug-2'),
  'debug 3.2.7': debug('debug-3'),
  'debug 4.4.3': debug('debug'),
  'debug 2.6.9 with a log of the application': debug('debug-2', 'own log'),
  'debug 3.2.7 with a log of the application': debug('debug-3', 'own log'),
  'debug 4.4.3 with a log of the application': debug('debug', 'own log'),
  'an instance of debug 2.6.9, handed over': debug('debug-2', 'instance'),
  'an instance of debug 3.2.7, handed over': debug('debug-3', 'instance'),
  'an instance of debug 4.4.3, handed over': debug('debug', 'instance'),
  'pino 8': pino('pino-8'),
  'pino 9': pino('pino-9'),
  'pino 9.13': pino('pino-9.13'),
  'pino 10': pino('pino'),
  'a child of pino 8 that each line makes': pino('pino-8', unnamed),
  'a child of pino 10 that each line makes': pino('pino', unnamed),
  'a child of pino 10 that was there before': pino('pino', kept(unnamed)),
  'a child of pino 10 with a level of its own': pino(
    'pino',
    kept((root, level) => unnamed(root).child({}, { level })),
  ),
  'winston 3.0': winston('winston-3.0'),
  'winston 3': winston('winston'),
  'a child of winston 3': winston('winston', { derive: (root) => root.child({ request: 1 }) }),
  'a child of winston 3 with a name of its own': winston('winston', {
    derive: kept((root) => root.child({ module: 'cats' })),
  }),
  'winston 3 with levels of syslog': winston('winston', {
    names: { debug: 'debug', info: 'info', warn: 'warning', error: 'error' },
    options: ({ config }) => ({ levels: config.syslog.levels }),
  }),
  'Nest 10': nest(requireNest('nestjs-common-10')),
  'Nest 11': nest(requireNest('@nestjs/common')),
  'Nest 12': nest(importNest12),
  'ConsoleLogger of Nest 11': nest(requireNest('@nestjs/common'), 'ConsoleLogger'),
  'util.debuglog': DEBUGLOG_KIND,
  'a level in words, handed over': leveled('in words', LEVELS),
  'a level in words without silly, handed over': leveled('in words', LEVELS.slice(1)),
  'a level in rising numbers, handed over': leveled('in rising numbers', LEVELS.slice(2)),
  'a level in falling numbers, handed over': leveled('in falling numbers', LEVELS.slice(2)),
  'pino, handed over': handedOver('pino'),
  'winston, handed over': handedOver('winston'),
} satisfies Readonly<Record<string, LoggerKind>>;

export type LoggerName = keyof typeof LOGGERS;
