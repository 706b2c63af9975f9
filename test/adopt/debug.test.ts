// In a process of its own: it patches `debug`, and sets flags of V8.

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { DEBUG as source } from '../../src/adopt/debug/debug.ts';
import { isSupported } from '../../src/adopt/versions.ts';
import { asOwnWork, loadOwn, markOwnWork } from '../../src/otel/own-work.ts';
import { timers } from '../../src/wire/time/timers.ts';
import { adoptionBench, loadCopy, propertiesOf } from './bench.ts';

interface Instance {
  (...args: unknown[]): void;
  enabled: boolean | null;
  log?: unknown;
  extend?(name: string): Instance;
}

interface Debug {
  (namespace: string): Instance;
  enable(namespaces: string): void;
  disable(): void;
  enabled(namespace: string): boolean;
  log: unknown;
  formatArgs: unknown;
}

/** Packages by version. */
const COPIES: Readonly<Record<string, string>> = {
  '2.6.9': 'debug-2',
  '3.2.7': 'debug-3',
  '4.4.3': 'debug',
};

/** A fresh copy of the package under `DEBUG`, adopted after `before`. What it writes to stderr itself is collected. */
function setUp(t: TestContext, version: string, { DEBUG = '', before = (_debug: Debug): unknown => undefined } = {}) {
  const { DEBUG: given } = process.env;
  process.env.DEBUG = DEBUG;
  const debug = loadCopy<Debug>(COPIES[version]!).exports;
  t.after(() => {
    if (given === undefined) delete process.env.DEBUG;
    else process.env.DEBUG = given;
  });
  const native: string[] = [];
  t.mock.method(process.stderr, 'write', (text: string) => native.push(text) > 0);
  const prepared = before(debug);
  const bench = adoptionBench(t, [source]);
  bench.load('debug', version, debug, prepared !== undefined);
  return { ...bench, debug, native, prepared };
}

for (const version of Object.keys(COPIES)) {
  describe(`debug ${version}`, () => {
    it('after many namespaces made from data others are adopted, and those in use are switched', (t) => {
      const { debug, names, turn, records } = setUp(t, version);
      const kept = debug('req:kept');
      // Instances of older copies do not ask: those that live stay followed.
      const asks = 'namespaces' in debug;
      for (let at = 0; at < (asks ? 6000 : 1000); at++) void debug(`req:${at}`).enabled;
      const sql = debug('sql');
      assert.equal(Boolean(sql.enabled), false);
      assert.ok(names().includes('SQL') && names().length < 300);
      for (const name of names()) turn(name, true);
      sql('query');
      kept('served');
      assert.deepEqual(
        records.map(({ message }) => message),
        ['query', 'served'],
      );
      for (const name of names()) turn(name, false);
      sql('query');
      kept('served');
      assert.equal(records.length, 2);
    });

    it('a namespace is a category that is off, and its lines come out of our outputs while it is on', (t) => {
      const { debug, names, turn, records, native, counted } = setUp(t, version);
      const router = debug('express:router');
      router('not yet');
      assert.deepEqual(names(), ['EXPRESS_ROUTER']);
      turn('EXPRESS_ROUTER', true);
      assert.equal(router.enabled, true);
      router('dispatching %s %d', 'GET', 42, { extra: 1 });
      turn('EXPRESS_ROUTER', false);
      router('no more');
      assert.equal(router.enabled, false);
      const [record] = records;
      assert.deepEqual([records.length, native.length, counted('EXPRESS_ROUTER')], [1, 0, 1]);
      assert.equal(record?.category, 'EXPRESS_ROUTER');
      assert.equal(record?.message, 'dispatching GET 42 { extra: 1 }');
      assert.equal(record?.attributes.namespace, 'express:router');
      assert.deepEqual(record?.attributes.args, ['GET', 42, { extra: 1 }]);
    });

    it('anything that debug takes is a message', (t) => {
      const { debug, turn, messages } = setUp(t, version);
      const log = debug('a');
      turn('A', true);
      log({ an: 'object' });
      log('%o and %j', { o: 1 }, { j: 2 });
      log(new Error('broken'));
      log();
      const [object, formatted, error, nothing] = messages();
      assert.deepEqual([object, formatted, nothing], ["{ an: 'object' }", '{ o: 1 } and {"j":2}', 'undefined']);
      assert.match(String(error), /^Error: broken\n {4}at /);
    });

    it('what DEBUG has on, debug writes as without us until the category is switched', (t) => {
      const { debug, byDefault, turn, reset, messages, native } = setUp(t, version, { DEBUG: 'app:*' });
      const [app, other] = [debug('app:sql'), debug('other')];
      assert.deepEqual([byDefault('APP_SQL'), byDefault('OTHER')], [true, false]);
      app('one %d', 1);
      other('none');
      const [line = '', ...others] = native.splice(0);
      assert.match(line, /app:sql.* one 1\b/s);
      assert.deepEqual(others, []);
      turn('APP_SQL', true);
      app('two');
      reset('APP_SQL');
      app('three');
      assert.deepEqual([messages(), native.length, process.env.DEBUG], [['two'], 1, 'app:*']);
    });

    it('what the application enables and disables later is the default state, and never decides where an operator does', (t) => {
      const { debug, byDefault, turn, reset, messages, native, leave } = setUp(t, version);
      const early = debug('early');
      debug.enable('*');
      const late = debug('late');
      early('early');
      late('late');
      // 2.6.9 reaches no instance that exists.
      const reached = version !== '2.6.9';
      assert.deepEqual([native.splice(0).length, messages()], [reached ? 2 : 1, []]);
      assert.equal(byDefault('LATE'), true);
      turn('LATE', false);
      turn('EARLY', true);
      for (const change of [() => debug.disable(), () => debug.enable('late'), () => debug.enable('*,-early')]) {
        change();
        early('operator');
        late('silent');
        assert.deepEqual([messages(), native], [['operator'], []], String(change));
      }
      debug.enable('early');
      for (const name of ['EARLY', 'LATE']) reset(name);
      early('native');
      assert.deepEqual([native.splice(0).length, messages()], [reached ? 1 : 0, []]);
      debug.disable();
      turn('EARLY', true);
      leave();
      early('off as without us');
      late('off as without us');
      assert.deepEqual([messages(), native.length], [[], reached ? 0 : 1]);
    });

    it('an instance that the application sets itself stays so', (t) => {
      const { debug, turn, messages, native } = setUp(t, version);
      const [on, off] = [debug('on'), debug('off')];
      on.enabled = true;
      off.enabled = false;
      turn('OFF', true);
      // Only from 4.3.4 on does debug itself know that somebody has set it.
      if (!version.startsWith('4.')) off.enabled = false;
      on('natively');
      off('never');
      assert.deepEqual([messages(), native.length], [[], 1]);
      turn('ON', true);
      on('ours');
      assert.deepEqual([messages(), native.length], [['ours'], 1]);
    });

    it('instances made before adoption follow, where debug itself can reach them', (t) => {
      const { turn, names, messages, prepared } = setUp(t, version, { before: (debug) => debug('early') });
      const early = prepared as Instance;
      early('notices');
      // Neither lists 2.6.9 its instances, nor does it ask whether they are on.
      assert.deepEqual(names(), version === '2.6.9' ? [] : ['EARLY']);
      if (version === '2.6.9') return;
      turn('EARLY', true);
      early('on');
      turn('EARLY', false);
      early('off');
      assert.deepEqual(messages(), ['on']);
    });

    it('goes on writing for an application that has wrapped our functions, and stops being ours', (t) => {
      const { debug, leave, turn, messages, native } = setUp(t, version, { DEBUG: 'a' });
      const { formatArgs } = debug as { formatArgs: (...args: unknown[]) => unknown };
      let wrapped = 0;
      debug.formatArgs = function (this: unknown, ...args: unknown[]) {
        wrapped += 1;
        return Reflect.apply(formatArgs, this, args);
      };
      const log = debug('a');
      turn('A', true);
      log('one');
      leave();
      log('two');
      assert.deepEqual([wrapped, messages(), native.length], [1, ['one'], 1]);
    });

    it('a formatArgs of the application formats what debug writes itself, and nothing else', (t) => {
      const { debug, turn, messages, native, counted, recordAll } = setUp(t, version, { DEBUG: 'on' });
      const format = (args: unknown[]) => {
        args[0] = `mine ${args[0]}`;
      };
      debug.formatArgs = format;
      const [on, off] = [debug('on'), debug('off')];
      recordAll(true);
      for (const log of [on, off]) log('recorded');
      recordAll(false);
      assert.deepEqual([native.splice(0), messages(), counted('ON')], [['mine recorded\n'], [], 1]);
      turn('OFF', true);
      off('switched');
      assert.deepEqual([native, messages(), counted('OFF')], [[], ['switched'], 1]);
      assert.equal(debug.formatArgs, format);
    });
  });
}

describe('debug', () => {
  it('is adopted in the versions that it was tried with, and in later ones of the same line', () => {
    const versions = ['2.6.8', '2.6.9', '3.1.0', '3.2.7', '4.1.1', '4.3.1', '4.3.3', '4.3.4', '4.4.3', '5.0.0'];
    const adopted = versions.filter((version) => isSupported(source.modules ?? [], 'debug', version));
    assert.deepEqual(adopted, ['2.6.9', '3.2.7', '4.3.4', '4.4.3']);
  });

  it('reads DEBUG again with the first instance of the application, which may have set it after we loaded 4.x', (t) => {
    const { debug, native } = setUp(t, '4.4.3', { before: (debug) => debug('require-in-the-middle') });
    process.env.DEBUG = 'from:*';
    debug('from:file')('natively');
    process.env.DEBUG = 'later';
    debug('later')('not read');
    debug('from:file')('natively');
    debug.disable();
    debug('from:file')('off');
    assert.equal(native.length, 2);
  });

  it('of a library that only instrumentations bring is no category, and does what it did', (t) => {
    const { debug, names, native } = setUp(t, '4.4.3', { DEBUG: 'require-in-the-middle' });
    debug('require-in-the-middle')('natively');
    debug('app')('off');
    assert.deepEqual([names(), native.length], [['APP'], 1]);
  });

  it('is left alone with one warning where its exports are frozen or unknown', (t) => {
    const { load, warnings } = adoptionBench(t, [source]);
    const frozen = Object.freeze(loadCopy<object>('debug').exports);
    const before = propertiesOf(frozen);
    for (const exports of [frozen, {}, () => {}, undefined]) load('debug', '4.4.3', exports);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]!, /debug 4\.4\.3/);
    assert.deepEqual(propertiesOf(frozen), before);
  });

  it('is left alone with one warning behind a Proxy that throws', (t) => {
    const { exports: debug } = loadCopy<Debug>('debug');
    const before = propertiesOf(debug);
    const { load, leave, warnings } = adoptionBench(t, [source]);
    const refuse = () => {
      throw new Error('keep out');
    };
    load('debug', '4.4.3', new Proxy(debug, { get: refuse, getOwnPropertyDescriptor: refuse, set: refuse }));
    leave();
    assert.deepEqual(warnings.length, 1);
    assert.match(warnings[0]!, /^adopt: debug .*keep out/);
    assert.deepEqual(propertiesOf(debug), before);
  });

  it('looks at the namespaces that 2.6.9 has in use no oftener than one may have ended', (t) => {
    const { debug } = setUp(t, '2.6.9');
    const inUse = Array.from({ length: 4096 }, (_, at) => debug(`req:${at}`));
    const added = t.mock.method(Set.prototype, 'add');
    for (let at = 0; at < 100; at++) inUse.push(debug(`more:${at}`));
    assert.ok(added.mock.callCount() < 1000, String(added.mock.callCount()));
  });

  it('keeps no instance alive that 2.6.9 would let go', async (t) => {
    const { debug } = setUp(t, '2.6.9');
    setFlagsFromString('--expose-gc');
    const gc: () => void = runInNewContext('gc');
    const refs = Array.from({ length: 100 }, () => new WeakRef(debug('a')));
    await new Promise((resolve) => setTimeout(resolve, 5));
    gc();
    assert.ok(refs.filter((ref) => ref.deref() === undefined).length > 90);
  });
});

it('a library that only our own endpoint uses is no category, until the application uses it as well', async (t) => {
  let afterASecond = () => {};
  t.mock.method(timers, 'setTimeout', ((task: () => void) => {
    afterASecond = task;
    return { unref: () => undefined };
  }) as unknown as typeof setTimeout);
  markOwnWork();
  const { debug, names, turn, messages, leave } = setUp(t, '4.4.3');
  const router = await loadOwn(async () => debug('koa-router'));
  asOwnWork(() => router('a request to the endpoint'));
  afterASecond();
  asOwnWork(() => router('and another one'));
  debug('shop');
  assert.deepEqual(names(), ['SHOP']);
  afterASecond();
  router('a request to the application');
  assert.deepEqual(names(), ['SHOP', 'KOA_ROUTER']);
  turn('KOA_ROUTER', true);
  router('on');
  assert.deepEqual(messages(), ['on']);
  const second = await loadOwn(async () => debug('koa-mount'));
  assert.equal(names().includes('KOA_MOUNT'), false);
  debug('koa-mount');
  assert.equal(names().includes('KOA_MOUNT'), true);
  turn('KOA_MOUNT', true);
  second('both');
  assert.deepEqual(messages(), ['both']);
  leave();
  assert.equal(router.enabled, false);
});
