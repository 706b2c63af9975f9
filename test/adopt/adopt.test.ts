// In a process of its own: it patches loggers.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import loglevel from 'loglevel';
import { DEBUG } from '../../src/adopt/debug/debug.ts';
import { adopt } from '../../src/index.ts';
import { adoptionBench, loadCopy, propertiesOf } from './bench.ts';

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

test('a single instance of debug is adopted, and writes where it wrote', (t) => {
  const { adopter, turn, counted } = bench(t);
  for (const name of ['debug-2', 'debug']) {
    const instance = loadCopy<Debug>(name).exports('app');
    const lines: unknown[] = [];
    instance.log = (...args: unknown[]) => lines.push(args);
    const before = propertiesOf(instance);
    const undo = adopter.adopt(instance, {});
    instance('off');
    turn('APP', true);
    instance('on');
    turn('APP', false);
    undo();
    assert.equal(lines.length, 1);
    const changed = new Set<PropertyKey>(['diff', 'prev', 'curr']);
    const [after] = propertiesOf(instance);
    assert.deepEqual([after!.filter(([name]) => !changed.has(name))], before);
  }
  assert.equal(counted('APP'), 2);
});

test('a logger with getLevel and setLevel writes debug lines while its category is on, where the tenant has it on', (t) => {
  const { adopter, turn, turnFor, gate, counted } = bench(t);
  const logger = loglevel.getLogger(`sql ${t.name.length}`);
  const lines: string[] = [];
  logger.methodFactory =
    (method) =>
    (...args) =>
      lines.push(`${method} ${args.join(' ')}`);
  logger.setLevel('warn');
  const before = [logger.getLevel(), logger.debug];
  const undo = adopter.adopt(logger, { category: 'SQL' });
  const write = (text: string) => {
    logger.debug(text);
    logger.trace(text);
    logger.warn(text);
  };
  write('off');
  turn('SQL', true);
  write('on');
  turn('SQL', false);
  turnFor('acme', 'SQL', true);
  gate.runWithTenant('acme', () => logger.debug('acme'));
  gate.runWithTenant('beta', () => logger.debug('beta'));
  assert.deepEqual(lines, ['warn off', 'debug on', 'warn on', 'debug acme']);
  assert.equal(counted('SQL'), 2);
  assert.deepEqual(adopter.sourceOf('SQL')?.kind, 'custom');
  undo();
  assert.equal(logger.getLevel(), before[0]);
  write('undone');
  assert.deepEqual(lines.slice(4), ['warn undone']);
});

test("a line above debug that the logger's own level holds back comes out only where the tenant has the category on", (t) => {
  const { adopter, turn, turnFor, gate, counted } = bench(t);
  const lines: string[] = [];
  const say = (method: string) => (text: string) => void lines.push(`${method} ${text}`);
  const methods = { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') };
  /** A number for a level, as bunyan's; or the other way round, as consola's. */
  const numbered = (levels: Record<string, number>, own: string) => {
    let level = levels[own]!;
    const set = (given: string | number) => {
      if (typeof given === 'string' && !(given in levels)) throw new Error('no level');
      level = typeof given === 'number' ? given : levels[given]!;
    };
    return { ...methods, getLevel: () => level, setLevel: set };
  };
  const loggers = {
    WORDS: { ...methods, level: 'error' },
    RISING: numbered({ debug: 20, info: 30, warn: 40, error: 50 }, 'error'),
    FALLING: numbered({ debug: 4, info: 3, warn: 1, error: 0 }, 'error'),
  };
  for (const [category, logger] of Object.entries(loggers)) {
    lines.length = 0;
    adopter.adopt(logger, { category });
    turnFor('acme', category, true);
    for (const tenant of ['acme', 'beta'])
      gate.runWithTenant(tenant, () => {
        for (const method of ['debug', 'info', 'warn', 'error'] as const) logger[method](tenant);
      });
    assert.deepEqual(lines, ['debug acme', 'info acme', 'warn acme', 'error acme', 'error beta'], category);
    assert.equal(counted(category), 3);
    turnFor('acme', category, false);
    turn(category, false);
    assert.equal(logger.info, methods.info, 'as it was');
  }
  assert.equal(loggers.WORDS.level, 'error');
  assert.deepEqual([loggers.RISING.getLevel(), loggers.FALLING.getLevel()], [50, 0]);
});

test('a level raises a logger further, lets out less, or takes away less urgent lines; errors always come out', (t) => {
  const { adopter, turn, turnFor, reset, gate, counted } = bench(t);
  const lines: string[] = [];
  const methods = ['silly', 'trace', 'debug', 'verbose', 'info', 'warn', 'error'] as const;
  /** As winston's and loglevel's: the level decides in the methods. */
  const words = ['silly', 'trace', 'debug', 'verbose', 'info', 'warn', 'error'];
  const made = (level: string, known: readonly (typeof methods)[number][] = methods) => {
    const logger = { level } as Record<(typeof methods)[number] | 'level', unknown>;
    for (const method of known) {
      logger[method] = () => {
        if (words.indexOf(method) >= words.indexOf(String(logger.level))) lines.push(method);
      };
    }
    return logger;
  };
  const say = (logger: ReturnType<typeof made>) => {
    for (const method of methods) (logger[method] as undefined | (() => void))?.();
    return lines.splice(0).join();
  };
  const usual = made('info');
  const terse = made('error');
  const verbose = made('debug');
  const plain = made('info', ['trace', 'debug', 'info', 'warn', 'error']);
  const loggers = [usual, terse, verbose, plain];
  for (const logger of loggers) adopter.adopt(logger, { category: 'SQL' });
  const own = ['info,warn,error', 'error', 'debug,verbose,info,warn,error', 'info,warn,error'];
  assert.deepEqual(loggers.map(say), own);
  turn('SQL', true, 'silly');
  assert.deepEqual(
    loggers.map(({ level }) => level),
    ['silly', 'silly', 'silly', 'trace'],
  );
  const [all, few] = [methods.join(), 'trace,debug,info,warn,error'];
  assert.deepEqual(loggers.map(say), [all, all, all, few]);
  turn('SQL', true, 'trace');
  const traces = methods.slice(1).join();
  assert.deepEqual(loggers.map(say), [traces, traces, traces, few]);
  turn('SQL', true, 'debug');
  const debugs = methods.slice(2).join();
  assert.deepEqual(loggers.map(say), [debugs, debugs, debugs, 'debug,info,warn,error']);
  turn('SQL', true, 'info');
  assert.deepEqual(loggers.map(say), Array(4).fill('info,warn,error'));
  const before = counted('SQL');
  turn('SQL', true, 'warn');
  assert.deepEqual(loggers.map(say), ['warn,error', 'error', 'warn,error', 'warn,error']);
  turn('SQL', true, 'error');
  assert.deepEqual(loggers.map(say), Array(4).fill('error'));
  assert.equal(counted('SQL'), before);
  turn('SQL', true);
  turnFor('acme', 'SQL', true, 'trace');
  turnFor('beta', 'SQL', true, 'warn');
  const of = (tenant: string) => gate.runWithTenant(tenant, () => say(usual));
  assert.deepEqual([of('acme'), of('beta')], [traces, 'warn,error']);
  turnFor('acme', 'SQL', undefined);
  turnFor('beta', 'SQL', undefined);
  reset('SQL');
  assert.deepEqual(loggers.map(say), own);
  assert.deepEqual(
    loggers.map(({ level }) => level),
    ['info', 'error', 'debug', 'info'],
  );
});

test("a line that the logger's own level admits is not decided by its category", (t) => {
  const { adopter, turnFor, gate, counted } = bench(t);
  const lines: string[] = [];
  const logger = { level: 'info', info: (text: string) => void lines.push(text), debug: () => {} };
  adopter.adopt(logger, { category: 'SQL' });
  turnFor('acme', 'SQL', true);
  gate.runWithTenant('beta', () => logger.info('beta'));
  assert.deepEqual([lines, counted('SQL')], [['beta'], 0]);
});

test('a level that the application sets meanwhile stays, and one that it had already is its own', (t) => {
  const { adopter, turn } = bench(t);
  const [verbose, changed] = ['debug', 'info'].map((level) => ({ level, debug: () => level }));
  const { debug } = verbose!;
  adopter.adopt(verbose!, { category: 'VERBOSE' });
  adopter.adopt(changed!, { category: 'CHANGED', level: 'trace' });
  turn('VERBOSE', true);
  turn('CHANGED', true);
  assert.equal(verbose!.debug, debug);
  assert.equal(changed!.level, 'trace');
  changed!.level = 'error';
  turn('CHANGED', false);
  turn('VERBOSE', false);
  assert.deepEqual([verbose!.level, changed!.level], ['debug', 'error']);
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
  for (const wrong of [{}, () => {}, [], null, undefined, 'debug', 7]) {
    assert.throws(() => adopt(wrong as object), {
      name: 'TypeError',
      message: /^adopt: must be a known logging library/,
    });
  }
  assert.throws(() => adopt({ level: 'info' }, { category: 'sql' }), { name: 'TypeError', message: /category name/ });
});
