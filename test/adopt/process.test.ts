// In a process of its own: it patches loggers.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoadEvents } from '../../src/adopt/hook.ts';
import { Adopter } from '../../src/adopt/process.ts';
import type { AdoptedModule, Adoption, Source } from '../../src/adopt/types.ts';
import { GateCore } from '../../src/gate/core.ts';
import type { AdoptOptions } from '../../src/options/adopt.ts';
import { attachOn, RecordingController } from '../gate/controllers.ts';

const MODULE: AdoptedModule = { name: 'noisy', versions: '>=1.0.0 <2', file: 'index.js' };

/** A process with a source of a package, one of an API, and libraries that load when `load` is called. */
function bench() {
  const log: string[] = [];
  const warnings: string[] = [];
  let adoption: Adoption | undefined;
  const noisy: Source = {
    kind: 'debug',
    option: 'debug',
    modules: [MODULE],
    adopt(exports, { version }, given) {
      adoption = given;
      log.push(`patch ${String(exports)} ${version}`);
      return () => log.push(`restore ${String(exports)}`);
    },
  };
  const api: Source = {
    kind: 'channel',
    option: 'channels',
    start: () => {
      log.push('start');
      return () => log.push('stop');
    },
  };
  let handOver: LoadEvents['loaded'] | undefined;
  let reportUnsupported: LoadEvents['unsupported'] | undefined;
  const gate = new GateCore();
  gate.attach(new RecordingController());
  const adopter = new Adopter({
    gate,
    sources: [noisy, api],
    watch: (_modules, events) => {
      log.push('watch');
      handOver = events.loaded;
      reportUnsupported = events.unsupported;
      return () => log.push('unwatch');
    },
  });
  return {
    log,
    warnings,
    gate,
    adopter,
    join: (options: AdoptOptions) => adopter.join({ options, warn: (message) => warnings.push(message) }),
    load: (exports: unknown, version = '1.0.0') =>
      handOver?.({
        module: MODULE,
        exports,
        copy: { name: 'noisy', version, url: 'file:///noisy/index.js', loadedBefore: false },
      }),
    unsupported: (version: string) => reportUnsupported?.(MODULE, version),
    fail: (message: string, logger?: { readonly name: string }) => adoption?.failed(new Error(message), logger),
    category: (name: string) => adoption?.category(name, { version: '1.0.0' }),
  };
}

test('a library is patched once, however many want it, and put back when the last one leaves', () => {
  const { log, join, load } = bench();
  const leaveFirst = join({ debug: true });
  load('one');
  load('one');
  load('two');
  const leaveSecond = join({ debug: true, channels: true });
  leaveFirst();
  leaveFirst();
  assert.deepEqual(log.splice(0), ['watch', 'patch one 1.0.0', 'patch two 1.0.0', 'start']);
  leaveSecond();
  assert.deepEqual(log.splice(0), ['restore two', 'restore one', 'stop', 'unwatch']);
  join({ debug: true });
  assert.deepEqual(log, ['patch one 1.0.0', 'patch two 1.0.0', 'watch']);
});

test('a version that is not supported is named once, with those that are, where its source is wanted', () => {
  const { warnings, join, unsupported } = bench();
  const leave = join({ channels: true, debug: false });
  unsupported('2.0.0');
  leave();
  join({ debug: true });
  for (const version of ['2.0.0', '2.0.0', '0.9.0']) unsupported(version);
  assert.deepEqual(warnings, [
    'adopt: noisy 2.0.0 is not supported and stays as it is (supported: >=1.0.0 <2)',
    'adopt: noisy 0.9.0 is not supported and stays as it is (supported: >=1.0.0 <2)',
  ]);
});

test('a failure names its category, once for each', () => {
  const { warnings, join, load, category, fail } = bench();
  join({ debug: true });
  load('one');
  const [sql, pool] = [category('sql')!, category('pool')!];
  for (const logger of [sql, sql, pool]) fail('boom', logger);
  fail('boom');
  assert.deepEqual(warnings, [
    'adopt: debug failed while the logger of SQL was adopted or wrote a line (boom)',
    'adopt: debug failed while the logger of POOL was adopted or wrote a line (boom)',
    'adopt: debug failed while a logger was adopted or wrote a line (boom)',
  ]);
});

test('the logger with the better claim gets the name, and the other one goes on under its own', () => {
  const { gate, adopter, join, load, category } = bench();
  join({ debug: true });
  load('one');
  const dashed = category('koa.router')!;
  const heard: boolean[] = [];
  dashed.onWanted((wanted) => heard.push(wanted));
  const attachment = attachOn(gate, new RecordingController());
  const owner = category('koa-router')!;
  assert.equal(owner.name, 'KOA_ROUTER');
  assert.match(dashed.name, /^KOA_ROUTER_[A-Z0-9]{7}$/);
  assert.deepEqual([owner.wanted, dashed.wanted, heard], [true, false, [true, false]]);
  attachment.setBase(1, true);
  assert.deepEqual([dashed.wanted, heard], [true, [true, false, true]]);
  assert.equal(adopter.sourceOf('KOA_ROUTER')?.name, 'koa-router');
  assert.equal(adopter.sourceOf(dashed.name)?.name, 'koa.router');
  assert.deepEqual(
    gate.categories().map(({ description }) => description),
    ['debug lines of koa-router (debug 1.0.0)', 'debug lines of koa.router (debug 1.0.0)'],
  );
});

test('an adopted category says what it is of, until code of the service describes it', () => {
  const { join, load, category, gate } = bench();
  join({ debug: true });
  load('noisy');
  category('pool\u0007');
  const described = () => gate.categories().map(({ description }) => description);
  assert.deepEqual(described(), ['debug lines of pool\\u0007 (debug 1.0.0)']);
  gate.category('POOL', { description: '' });
  assert.deepEqual(described(), ['debug lines of pool\\u0007 (debug 1.0.0)']);
  gate.category('POOL', { description: 'connections of the pool' });
  gate.category('POOL', { description: 'another' });
  assert.deepEqual(described(), ['connections of the pool']);
});
