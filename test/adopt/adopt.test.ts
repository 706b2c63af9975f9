// In a process of its own: it patches loggers.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import loglevel from 'loglevel';
import { DEBUG } from '../../src/adopt/debug/debug.ts';
import { findPino } from '../../src/adopt/pino/logger.ts';
import { findWinston } from '../../src/adopt/winston/copy.ts';
import { adopt } from '../../src/index.ts';
import { adoptionBench, loadCopy, propertiesOf } from './bench.ts';
import { type CreateDebug, destination, type Log, type Pino, SOURCES, type Winston } from './loggers.ts';

type Debug = (name: string) => ((...args: unknown[]) => void) & { log?: unknown; enabled: boolean };

/** A remote control whose option `adopt` is off. */
const bench = (t: TestContext) => adoptionBench(t, [DEBUG], { options: {} });

test('a library that no hook has found is adopted, with a category for each logger or one for all', (t) => {
  const { adopter, gate, names, turn, messages, leave } = bench(t);
  const [debug, other] = [0, 1].map(() => loadCopy<Debug>('debug').exports);
  adopter.adopt(debug!, {});
  const undo = adopter.adopt(other!, { category: 'LIBRARIES' });
  const loggers = [debug!('app:sql'), other!('one'), other!('two')];
  assert.deepEqual(names(), ['APP_SQL', 'LIBRARIES']);
  assert.equal(gate.categories()[0]?.description, 'debug lines of app:sql (debug)');
  assert.deepEqual(adopter.sourceOf('LIBRARIES'), { kind: 'debug', name: 'one', count: 2 });
  for (const name of names()) turn(name, true);
  for (const log of loggers) log('a line');
  undo();
  for (const log of loggers) log('one left');
  leave();
  for (const log of loggers) log('none left');
  assert.deepEqual(messages(), ['a line', 'a line', 'a line', 'one left']);
});

test('loggers of one name in two groups are switched apart', (t) => {
  const { adopter, names, turn, messages } = bench(t);
  const groups = ['ORDERS', 'BILLING'].map((category) => {
    const { exports: debug } = loadCopy<Debug>('debug');
    adopter.adopt(debug, { category });
    return debug('sql');
  });
  assert.deepEqual(names(), ['ORDERS', 'BILLING']);
  turn('BILLING', true);
  for (const [at, log] of groups.entries()) log(`line ${at}`);
  assert.deepEqual(messages(), ['line 1']);
});

type Handed = readonly [library: 'debug' | 'pino' | 'winston', copy: string];
const HANDED: readonly Handed[] = [
  ...(['debug-2', 'debug-3', 'debug'] as const).map((copy) => ['debug', copy] as const),
  ...(['pino-8', 'pino-9', 'pino-9.13', 'pino'] as const).map((copy) => ['pino', copy] as const),
  ...(['winston-3.0', 'winston'] as const).map((copy) => ['winston', copy] as const),
];

/** Makes a logger. `say` writes a line of debug, and returns whether the logger itself has written it. */
function making(library: Handed[0], exports: unknown) {
  const { stream, write, written } = destination({});
  const make = (): object & { debug?(text: string): void } => {
    if (library === 'pino') return (exports as Pino)({}, stream);
    if (library === 'debug') return Object.assign((exports as CreateDebug)('app'), { log: write });
    const { createLogger, transports } = exports as Winston;
    return createLogger({ transports: [new transports.Stream({ stream })] });
  };
  return () => {
    const logger = make();
    const say = () => {
      if (typeof logger === 'function') (logger as Log)('d');
      else logger.debug?.('d');
      return written().length > 0;
    };
    return { logger, say };
  };
}

/** What debug and streams keep of lines that were written. */
const OF_LINES = /^(diff|prev|curr|_events|_eventsCount|_writableState|_readableState)$/;

/** The objects of a library that an adoption changes. */
function partsOf(exports: object): object[] {
  const { Container } = exports as Partial<Winston>;
  if (Container !== undefined) return [exports, Container.prototype, findWinston(exports)!];
  if (!('symbols' in exports)) return [exports];
  return [exports, findPino((exports as Pino)({ level: 'silent' }, { write() {} }))!.prototype];
}

for (const [library, copy] of HANDED) {
  test(`a logger of ${copy} is handed over alone, then the whole library, and each is as it was when that is undone`, (t) => {
    const { exports } = loadCopy<object>(copy);
    const bare = propertiesOf(...partsOf(exports));
    const { adopter, names, turn, leave, rejoin } = adoptionBench(t, [SOURCES[library]], { options: {} });
    const made = making(library, exports);
    const [first, other] = [made(), made()];
    const say = () => [first.say(), other.say()];
    assert.deepEqual(say(), [false, false]);
    const properties = () => propertiesOf(first.logger)[0]?.filter(([key]) => !OF_LINES.test(String(key)));
    const before = properties();
    const undo = adopter.adopt(first.logger, { category: 'FIRST' });
    say();
    assert.deepEqual(names(), ['FIRST']);
    turn('FIRST', true);
    assert.deepEqual(say(), [true, false]);
    leave();
    assert.deepEqual(say(), [false, false]);
    rejoin();
    assert.deepEqual(say(), [true, false]);
    undo();
    assert.deepEqual([say(), properties()], [[false, false], before]);
    const undoAll = adopter.adopt(exports, {});
    const late = made();
    turn('APP', true);
    assert.equal(late.say(), true);
    undoAll();
    assert.deepEqual([late.say(), propertiesOf(...partsOf(exports))], [false, bare]);
  });
}

for (const library of ['debug', 'pino', 'winston'] as const) {
  test(`what ${library} exports is adopted, and put back, behind a Proxy`, (t) => {
    const { exports, version } = loadCopy<object>(library);
    const before = propertiesOf(exports);
    const { load, leave, turn, records, warnings } = adoptionBench(t, [SOURCES[library]]);
    const proxy = new Proxy(exports, {});
    load(library, version, proxy);
    const made = [proxy, exports].map((each) => making(library, each)());
    turn('APP', true);
    // debug writes by our outputs.
    const said = () => made.filter(({ say }) => [say(), records.splice(0).length > 0].includes(true)).length;
    assert.equal(said(), 2);
    leave();
    assert.deepEqual([said(), warnings, propertiesOf(exports)], [0, [], before]);
  });

  test(`what ${library} exports is left alone, with one warning, where it is unknown`, (t) => {
    const { load, warnings } = adoptionBench(t, [SOURCES[library]]);
    for (const strange of [() => ({}), class {}, { createLogger: () => ({}) }, undefined])
      load(library, '10.9.9', strange);
    assert.equal(warnings.length, 1);
    assert.ok(warnings[0]!.includes(`${library} 10.9.9`), warnings[0]);
  });
}

test('a logger of loglevel, which makes its methods from its level, writes debug lines while its category is on', (t) => {
  const { adopter, turn } = bench(t);
  const logger = loglevel.getLogger(`sql ${t.name.length}`);
  const lines: string[] = [];
  const write =
    (method: string) =>
    (...args: unknown[]) =>
      lines.push(`${method} ${args.join(' ')}`);
  logger.methodFactory = write;
  logger.setLevel('warn');
  const level = logger.getLevel();
  const undo = adopter.adopt(logger, { category: 'SQL' });
  const say = (text: string) => {
    for (const method of ['debug', 'trace', 'warn'] as const) logger[method](text);
    return lines.splice(0);
  };
  assert.deepEqual(say('off'), ['warn off']);
  turn('SQL', true);
  assert.deepEqual(say('on'), ['debug on', 'warn on']);
  assert.deepEqual(adopter.sourceOf('SQL')?.kind, 'custom');
  undo();
  assert.deepEqual([logger.getLevel(), say('undone')], [level, ['warn undone']]);
});

test('a level and a method that the application sets meanwhile stay, and a level that it had already is its own', (t) => {
  const { adopter, turn } = bench(t);
  type Made = ReturnType<typeof make>;
  const make = (level: string) => ({ level, verbose: 'no method', debug: () => level, trace: () => level });
  const [verbose, changed, replaced, odd] = ['debug', 'info', 'info', 'info'].map(make) as [Made, Made, Made, Made];
  const { debug } = verbose;
  const { debug: whole } = changed;
  adopter.adopt(verbose, { category: 'VERBOSE' });
  adopter.adopt(changed, { category: 'CHANGED', level: 'trace' });
  const undo = adopter.adopt(replaced, { category: 'REPLACED', level: 'trace' });
  adopter.adopt(odd, { category: 'ODD', level: 'a word of its own' });
  for (const name of ['VERBOSE', 'CHANGED', 'REPLACED', 'ODD']) turn(name, true);
  assert.equal(verbose.debug, debug);
  assert.deepEqual([changed.level, odd.level], ['trace', 'a word of its own']);
  assert.notEqual(changed.debug, whole);
  changed.level = 'error';
  const mine = () => 'mine';
  replaced.trace = mine;
  for (const name of ['VERBOSE', 'CHANGED', 'ODD']) turn(name, false);
  undo();
  assert.deepEqual([verbose.level, changed.level, changed.debug, odd.level], ['debug', 'error', whole, 'info']);
  assert.deepEqual([replaced.trace, replaced.level, replaced.verbose], [mine, 'info', 'no method']);
});

test('a logger whose setter throws is left alone, with one warning', (t) => {
  const { adopter, turn, warnings } = bench(t);
  const broken = {
    getLevel: () => 'info',
    setLevel: () => {
      throw new Error('read-only');
    },
  };
  adopter.adopt(broken, { category: 'BROKEN' });
  for (const on of [true, false, true]) turn('BROKEN', on);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0]!, /custom.*logger of BROKEN.*read-only/);
});

test('anything else is refused, and so is a category that is none', () => {
  for (const wrong of [{}, { level: () => 'a method' }, () => {}, [], null, undefined, 'debug', 7]) {
    assert.throws(() => adopt(wrong as object), {
      name: 'TypeError',
      message: /^adopt: must be a known logging library/,
    });
  }
  assert.throws(() => adopt({ level: 'info' }, { category: 'sql' }), { name: 'TypeError', message: /category name/ });
});
