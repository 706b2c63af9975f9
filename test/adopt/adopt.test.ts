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

test('a logger that is at debug by itself is raised further or held back by a level, and is as it was afterwards', (t) => {
  const { adopter, turn, reset } = bench(t);
  const words = ['silly', 'trace', 'debug', 'info', 'warn', 'error'];
  const lines: string[] = [];
  const logger: Record<string, unknown> = { level: 'debug' };
  for (const word of words) {
    logger[word] = () => words.indexOf(word) >= words.indexOf(String(logger.level)) && lines.push(word);
  }
  adopter.adopt(logger, { category: 'SQL' });
  const say = () => {
    for (const word of words) (logger[word] as () => void)();
    return lines.splice(0);
  };
  for (const [at, level] of (['silly', 'trace', 'debug', 'info', 'warn', 'error'] as const).entries()) {
    turn('SQL', true, level);
    assert.deepEqual(say(), words.slice(at), level);
  }
  reset('SQL');
  assert.deepEqual([say(), logger.level], [words.slice(2), 'debug']);
});

test('a level that the application sets meanwhile stays, and one that it had already is its own', (t) => {
  const { adopter, turn } = bench(t);
  const [verbose, changed] = ['debug', 'info'].map((level) => ({ level, debug: () => level }));
  const { debug } = verbose!;
  const { debug: whole } = changed!;
  adopter.adopt(verbose!, { category: 'VERBOSE' });
  adopter.adopt(changed!, { category: 'CHANGED', level: 'trace' });
  turn('VERBOSE', true);
  turn('CHANGED', true);
  assert.equal(verbose!.debug, debug);
  assert.equal(changed!.level, 'trace');
  assert.notEqual(changed!.debug, whole);
  changed!.level = 'error';
  turn('CHANGED', false);
  turn('VERBOSE', false);
  assert.deepEqual([verbose!.level, changed!.level, changed!.debug], ['debug', 'error', whole]);
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
