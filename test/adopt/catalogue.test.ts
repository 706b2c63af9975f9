import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Catalogue, type CatalogueOptions } from '../../src/adopt/catalogue.ts';
import type { AdoptedCategory } from '../../src/adopt/category.ts';
import { PINO } from '../../src/adopt/pino/pino.ts';
import { satisfies } from '../../src/adopt/versions.ts';
import { ArgumentRedaction } from '../../src/calls/emit/arguments.ts';
import { GateCore } from '../../src/gate/core.ts';
import { createRedaction } from '../../src/wire/redaction.ts';
import { RecordingController } from '../gate/controllers.ts';
import { newFolder } from '../support/folder.ts';
import { adoptionBench, loadCopy } from './bench.ts';

function bench(options: Partial<CatalogueOptions> = {}, limit = options.maxCategories ?? 4096) {
  const gate = new GateCore();
  const controller = new RecordingController(limit);
  const attachment = gate.attach(controller);
  const warnings: string[] = [];
  const catalogue = new Catalogue({
    gate,
    rules: [],
    warn: (message) => warnings.push(message),
    redaction: new ArgumentRedaction(createRedaction([])),
    guards: () => true,
    ...options,
  });
  const descriptor = (name: string) => gate.categories().find((each) => each.name === name);
  return {
    ...{ gate, catalogue, warnings, descriptor, controller },
    turn: (name: string, on: boolean) => attachment.setBase(descriptor(name)!.index, on),
  };
}

describe('loggers and their categories', () => {
  it('a logger is of the library that makes it, until the application makes or calls it as well', async (t) => {
    const { catalogue } = bench();
    const folder = newFolder(t);
    /** Runs a function in the code of a package. */
    const load = async (name: string): Promise<<T>(work: () => T) => T> => {
      const path = join(folder, 'node_modules', name, 'lib/index.mjs');
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, 'export const run = (work) => work();');
      return (await import(pathToFileURL(path).href)).run;
    };
    const library = await load('body-parser');
    const other = await load('.pnpm/a@1/node_modules/@scope/router');
    const wrapper = await load('@opentelemetry/instrumentation-winston');
    const [agent, logger] = [await load('some-agent'), await load('winston')];
    const make = catalogue.category.bind(catalogue, 'pino') as (name: string) => AdoptedCategory;
    const ofLibrary = (name: string) => library(make.bind(undefined, name));
    const makers: Readonly<Record<string, () => unknown>> = {
      LIBRARY: () => ofLibrary('library'),
      OTHER: () => other(make.bind(undefined, 'other')),
      SHOP_DB: () => make('shop:db'),
      SHARED: () => {
        ofLibrary('shared');
        make('shared');
      },
      APP: () => ofLibrary('APP'),
      WRAPPED: () => wrapper(make.bind(undefined, 'wrapped')),
      AGENT: () => logger(agent.bind(undefined, logger.bind(undefined, make.bind(undefined, 'agent')))),
      CALLED: () => {
        const category = ofLibrary('called');
        const wanted = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(category), 'wanted')!.get!;
        const calling = wanted.bind(category);
        for (let call = 0; call < 1000; call++) library(calling);
        assert.equal(catalogue.sourceOf('CALLED')?.package, 'body-parser', 'by the library itself');
        for (let call = 0; call < 300; call++) calling();
      },
    };
    for (const made of Object.values(makers)) made();
    assert.deepEqual(
      Object.keys(makers).map((name) => [name, catalogue.sourceOf(name)?.package]),
      [
        ['LIBRARY', 'body-parser'],
        ['OTHER', '@scope/router'],
        ...['SHOP_DB', 'SHARED', 'APP', 'WRAPPED', 'AGENT', 'CALLED'].map((name) => [name, undefined]),
      ],
    );
  });

  it("a logger that Fastify makes is the application's once that calls it, also while it is off", (t) => {
    const { load, adopter } = adoptionBench(t, [PINO]);
    const pino = loadCopy<object>('pino');
    load('pino', pino.version, pino.exports);
    const { fastify } = createRequire(import.meta.url)('fastify') as typeof import('fastify');
    const { log } = fastify({ logger: { name: 'shop', stream: { write() {} } } });
    assert.equal(adopter.sourceOf('SHOP')?.package, 'fastify');
    log.debug('off');
    assert.equal(adopter.sourceOf('SHOP')?.package, undefined);
  });

  it('the limit is reported once, and holds; a child belongs to the category of its parent then', () => {
    const { catalogue, warnings } = bench({}, 2);
    const parent = catalogue.category('pino', 'one')!;
    assert.ok(catalogue.category('pino', 'two'));
    assert.equal(catalogue.category('pino', 'three'), undefined);
    for (const name of ['three', 'four']) assert.equal(catalogue.category('pino', name, { parent }), parent);
    assert.equal(catalogue.category('pino', 'four'), undefined);
    assert.equal(catalogue.category('pino', 'one'), parent, 'a known logger keeps its own');
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]!, /limit of 2 adopted categories/);
  });

  it('names that look like data belong to the category of their parent, which is said once', () => {
    let now = 0;
    const { gate, catalogue, warnings } = bench({ now: () => now });
    const shop = catalogue.category('pino', 'shop')!;
    const made = Array.from({ length: 6000 }, (_, at) => catalogue.category('pino', `user-${at}`, { parent: shop })!);
    assert.equal(made.at(-1), shop);
    assert.equal(made[0]?.name, 'USER_0');
    assert.equal(gate.categories().length, 257);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]!, /^adopt: 256 loggers below SHOP had new names within a minute/);
    for (let at = 0; at < 300; at++) catalogue.category('debug', `job:${at}`);
    assert.equal(catalogue.category('debug', 'job:again')?.name, 'JOB');
    assert.ok(catalogue.category('pino', 'orders'), 'loggers of other parents are adopted');
    now += 1e6;
    assert.equal(catalogue.category('pino', 'later', { parent: shop }), shop);
  });

  it('many names over a long time are no data', () => {
    let now = 0;
    const { gate, catalogue, warnings } = bench({ now: () => now });
    for (let at = 0; at < 1000; at++) {
      now += 1000;
      catalogue.category('nest', `Service${at}`);
    }
    assert.deepEqual([gate.categories().length, warnings], [1000, []]);
  });

  for (const [shape, nameOf] of [
    ['a prefix and data', (at: number) => `req:${at}`],
    ['data and a suffix', (at: number) => `${at}:sql`],
    ['data on both sides', (at: number) => `${at}:${at}`],
    ['nothing but data', (at: number) => `request-${at}`],
    ['data, long and with odd characters', (at: number) => `${'é\u202e'.repeat(100)}${at}`],
  ] as const) {
    it(`after 100,000 names of ${shape} there is room for categories, and other loggers are adopted`, () => {
      const { gate, catalogue, warnings } = bench({ now: () => 0 });
      const shop = catalogue.category('pino', 'shop')!;
      for (let at = 0; at < 100_000; at++) catalogue.category('debug', nameOf(at));
      assert.ok(gate.categories().length < 1000, `${gate.categories().length} categories`);
      assert.ok(warnings.length <= 2);
      gate.category('ORDERS').debug('usable');
      assert.equal(catalogue.category('pino', 'sql', { parent: shop })?.name, 'SQL');
    });
  }

  it('names that come too slowly to look like data leave a quarter of the categories to the application', () => {
    for (const [limit, adopted] of [
      [4096, 3072],
      [100, 75],
    ] as const) {
      let now = 0;
      const { gate, catalogue, warnings } = bench({ now: () => now, maxCategories: limit });
      for (let at = 0; at < 100_000; at++) {
        now += 1000;
        catalogue.category('pino', `user-${at}`);
      }
      assert.equal(gate.categories().length, adopted);
      for (let at = 0; at < limit - adopted; at++) gate.category(`OWN_${at}`).debug('usable');
      assert.deepEqual(
        warnings.map((message) => message.slice(0, 40)),
        [`adopt: the limit of ${adopted} adopted categories`.slice(0, 40)],
      );
    }
  });

  it('a rule gives names that look like data its category, and keeps few of them', () => {
    const { gate, catalogue, warnings } = bench({ rules: [{ match: 'req:*', group: 'REQUESTS' }] });
    const made = Array.from({ length: 100_000 }, (_, at) => catalogue.category('debug', `req:${at}`));
    assert.ok(made.every((category) => category?.name === 'REQUESTS'));
    assert.ok(new Set(made).size <= 256);
    assert.ok(catalogue.sourceOf('REQUESTS')!.count <= 256);
    assert.deepEqual([gate.categories().length, warnings], [1, []]);
  });

  it('a name that is too long is cut, and two of them stay apart', () => {
    const { catalogue, descriptor } = bench();
    const long = ['a', 'b'].map((end) => catalogue.category('pino', '🐈'.repeat(2500) + end)!.name);
    assert.notEqual(long[0], long[1]);
    for (const name of long) {
      assert.ok(Buffer.byteLength(catalogue.sourceOf(name)!.name) <= 128);
      assert.ok(Buffer.byteLength(descriptor(name)!.description) < 500);
    }
    const fitting = 'x'.repeat(128);
    assert.equal(catalogue.sourceOf(catalogue.category('pino', fitting)!.name)?.name, fitting);
  });

  it('a logger that writes debug lines by itself switches nothing else on in its category', () => {
    const { gate, catalogue, turn, descriptor } = bench();
    const own = gate.category('SQL');
    const pino = catalogue.category('pino', 'sql', { enabledByDefault: true })!;
    const [debug, debuglog] = (['debug', 'debuglog'] as const).map((kind) => catalogue.category(kind, 'sql')!);
    const wanted = () => [own, pino, debug!, debuglog!].map((each) => each.wanted);
    const heard: boolean[] = [];
    pino.onWanted((now) => heard.push(now));
    assert.equal(descriptor('SQL')?.defaultEnabled, false);
    assert.deepEqual(wanted(), [false, true, false, false]);
    assert.deepEqual(
      [own, pino, debug!].map(({ enabled }) => enabled),
      [false, true, false],
    );
    const { count, onByItself } = catalogue.sourceOf('SQL')!;
    assert.deepEqual([count, onByItself], [3, 1]);
    assert.equal(pino.passes({ bytes: 1, reach: 'open', describe: () => ({ message: 'm' }) }), true);
    assert.equal(gate.callsTotal(descriptor('SQL')!.index), 1);
    turn('SQL', true);
    assert.deepEqual(wanted(), [true, true, true, true]);
    turn('SQL', false);
    assert.deepEqual(wanted(), [false, false, false, false]);
    assert.equal(pino.passes({ bytes: 1, reach: 'open', describe: () => ({ message: 'm' }) }), false);
    assert.deepEqual(heard, [true, false]);
    pino.setDefault(false);
    assert.equal(catalogue.sourceOf('SQL')?.onByItself, undefined);
  });

  it('an error of another kind is not taken for the limit', () => {
    const { catalogue, warnings } = bench({ gate: { category: () => assert.fail('broken') } });
    assert.throws(() => catalogue.category('pino', 'one'), /broken/);
    assert.deepEqual(warnings, []);
  });

  it('a rule gives several loggers one category, with its description, and leaves others out', () => {
    const { catalogue, descriptor, gate } = bench({
      rules: [
        { match: 'shop:*', group: 'SHOP', description: 'all of the shop' },
        { match: 'noise', exclude: true },
      ],
    });
    const [cart, orders] = ['shop:cart', 'shop:orders'].map((name) => catalogue.category('debug', name)!);
    assert.equal(catalogue.category('debug', 'noise'), undefined);
    assert.deepEqual(
      gate.categories().map(({ name }) => name),
      ['SHOP'],
    );
    assert.equal(descriptor('SHOP')?.description, 'all of the shop');
    assert.deepEqual(catalogue.sourceOf('SHOP'), { kind: 'debug', name: 'shop:cart', count: 2 });
    assert.equal(catalogue.sourceOf('OTHER'), undefined);
    const byThemselves = () => catalogue.sourceOf('SHOP')?.onByItself;
    cart!.setDefault(true);
    orders!.setDefault(true);
    assert.equal(byThemselves(), 2);
    cart!.setDefault(false);
    assert.deepEqual([byThemselves(), cart!.wanted, orders!.wanted], [1, false, true]);
    orders!.setDefault(false);
    assert.equal(byThemselves(), undefined);
  });
});

it('a version is in a range by its numbers alone, and what is no number is in none', () => {
  const cases: [string, string, boolean][] = [
    ['4.3.2', '>=2.6.9 <5', true],
    ['5.0.0', '>=2.6.9 <5', false],
    ['5.0.0-beta.1', '>=2.6.9 <5', false],
    ['2.6.8', '>=2.6.9 <5', false],
    ['4', '>=4.0.0', true],
    ['4.0.1', '>=4', true],
    ['4.x', '>=4', false],
    ['4.x', '<5', true],
    ['next', '<5', false],
    ['4.0.0', '4.0.0', false],
    ['4.0.0', '', false],
  ];
  for (const [version, range, expected] of cases)
    assert.equal(satisfies(version, range), expected, `${version} ${range}`);
});
