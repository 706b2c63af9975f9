import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { type TestContext, test } from 'node:test';
import loglevel from 'loglevel';
import { DEBUG } from '../../src/adopt/debug.ts';
import { adopt } from '../../src/index.ts';
import { adoptionBench, loadFresh, propertiesOf } from './bench.ts';

const require = createRequire(import.meta.url);

type Debug = (name: string) => ((...args: unknown[]) => void) & { log?: unknown; enabled: boolean };

/** A remote control whose option `adopt` is off. */
const bench = (t: TestContext) => adoptionBench(t, DEBUG, {});

test('a library that no hook has found is adopted, with a category for each logger or one for all', (t) => {
  const { adopter, names, turn, messages, leave } = bench(t);
  const [debug, other] = [0, 1].map(() => loadFresh(() => require('debug')) as Debug);
  adopter.adopt(debug!, {});
  const undo = adopter.adopt(other!, { category: 'LIBRARIES' });
  const loggers = [debug!('app:sql'), other!('one'), other!('two')];
  assert.deepEqual(names(), ['APP_SQL', 'LIBRARIES']);
  assert.deepEqual(adopter.sourceOf('LIBRARIES'), { kind: 'debug', name: 'one', count: 2 });
  for (const name of names()) turn(name, true);
  for (const log of loggers) log('a line');
  undo();
  for (const log of loggers) log('one left');
  leave();
  for (const log of loggers) log('none left');
  assert.deepEqual(messages(), ['a line', 'a line', 'a line', 'one left']);
});

test('a single instance of debug is adopted, and writes where it wrote', (t) => {
  const { adopter, turn, counted } = bench(t);
  for (const load of [() => require('debug-2'), () => require('debug')]) {
    const instance = (loadFresh(load) as Debug)('app');
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
    const { diff, prev, curr, ...after } = propertiesOf(instance);
    assert.deepEqual(after, before);
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
  assert.match(warnings[0]!, /custom.*read-only/);
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
