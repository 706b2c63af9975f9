import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Catalogue } from '../../src/adopt/catalogue.ts';
import { adoptLeveled, leveled } from '../../src/adopt/leveled.ts';
import { satisfies } from '../../src/adopt/versions.ts';
import { GateCore } from '../../src/gate/core.ts';
import { RecordingController } from '../gate/controllers.ts';

function bench(maxCategories = 4096, rules: ConstructorParameters<typeof Catalogue>[1] = []) {
  const gate = new GateCore();
  const controller = new RecordingController(maxCategories);
  const attachment = gate.attach(controller);
  const warnings: string[] = [];
  const catalogue = new Catalogue(gate, rules, (message) => warnings.push(message));
  const descriptor = (name: string) => gate.categories().find((each) => each.name === name);
  return {
    ...{ gate, catalogue, warnings, descriptor, controller },
    turn: (name: string, on: boolean) => attachment.setBase(descriptor(name)!.index, on),
  };
}

describe('loggers and their categories', () => {
  it('the limit is told once, and stands until it is another one', () => {
    const { catalogue, warnings } = bench(2);
    assert.ok(catalogue.category('pino', 'one'));
    assert.ok(catalogue.category('pino', 'two'));
    assert.equal(catalogue.category('pino', 'three'), undefined);
    assert.equal(catalogue.category('pino', 'four'), undefined);
    assert.ok(catalogue.category('pino', 'one'), 'a known logger keeps its own');
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]!, /limit of 2 adopted categories/);
    catalogue.reopen();
    assert.equal(catalogue.category('pino', 'three'), undefined);
    assert.equal(warnings.length, 2);
  });

  it('an error of another kind is not taken for the limit', () => {
    const broken = { category: () => assert.fail('broken') };
    const warnings: string[] = [];
    const catalogue = new Catalogue(broken, [], (message) => warnings.push(message));
    assert.throws(() => catalogue.category('pino', 'one'), /broken/);
    assert.deepEqual(warnings, []);
  });

  it('a rule gives several loggers one category, with its description, and leaves others out', () => {
    const { catalogue, descriptor, gate } = bench(4096, [
      { match: 'shop:*', group: 'SHOP', description: 'all of the shop' },
      { match: 'noise', exclude: true },
    ]);
    const [cart, orders] = ['shop:cart', 'shop:orders'].map((name) => catalogue.category('debug', name)!);
    assert.equal(catalogue.category('debug', 'noise'), undefined);
    assert.deepEqual(
      gate.categories().map(({ name }) => name),
      ['SHOP'],
    );
    assert.equal(descriptor('SHOP')?.description, 'all of the shop');
    assert.deepEqual(catalogue.sourceOf('SHOP'), { kind: 'debug', name: 'shop:cart', count: 2 });
    assert.equal(catalogue.sourceOf('OTHER'), undefined);
    cart!.setDefault(true);
    assert.equal(descriptor('SHOP')?.defaultEnabled, true);
    orders!.setDefault(true);
    cart!.setDefault(false);
    assert.equal(descriptor('SHOP')?.defaultEnabled, true, 'another one writes debug lines still');
    orders!.setDefault(false);
    assert.equal(descriptor('SHOP')?.defaultEnabled, false);
  });

  it('a logger with the better claim takes the name, and the first one keeps its state under another', () => {
    const { catalogue, descriptor, turn } = bench();
    const first = catalogue.category('debug', 'shop-cart', { enabledByDefault: true, version: '4.3.4' })!;
    assert.equal(first.name, 'SHOP_CART');
    const second = catalogue.category('pino', 'SHOP_CART')!;
    assert.equal(second.name, 'SHOP_CART');
    assert.notEqual(first.name, 'SHOP_CART');
    assert.equal(descriptor(first.name)?.defaultEnabled, true);
    assert.match(descriptor(first.name)!.description, /shop-cart \(debug 4\.3\.4\)/);
    assert.deepEqual(catalogue.sourceOf('SHOP_CART'), { kind: 'pino', name: 'SHOP_CART', count: 1 });
    turn(first.name, true);
    assert.deepEqual([first.wanted, second.wanted], [true, false]);
  });
});

describe('any logger with a level', () => {
  function logger() {
    const lines: string[] = [];
    const say =
      (method: string) =>
      (...args: unknown[]) =>
        void lines.push(`${method} ${args.length}`);
    const made: Record<string, unknown> = { name: 'any', level: 'info', verbose: 'no method' };
    for (const method of ['debug', 'trace']) made[method] = say(method);
    return { made, lines };
  }
  const failed = () => assert.fail('failed');

  it('of no known word lets every quiet line be decided', () => {
    const { catalogue, turn } = bench();
    const { made, lines } = logger();
    const category = catalogue.category('custom', 'any')!;
    const stop = adoptLeveled(made, leveled(made)!, 'finest', category, failed);
    turn('ANY', true);
    assert.equal(made.level, 'finest');
    (made.debug as (value: unknown) => void)({ no: 'text' });
    (made.trace as (value: unknown) => void)('text');
    turn('ANY', false);
    assert.deepEqual([lines, made.level, made.verbose], [['debug 1', 'trace 1'], 'info', 'no method']);
    stop();
  });

  it('a method and a level that the application has replaced meanwhile stay', () => {
    const { catalogue, turn } = bench();
    const { made, lines } = logger();
    const prototype = { debug: made.debug };
    delete made.debug;
    Object.setPrototypeOf(made, prototype);
    const before = made.trace;
    const stop = adoptLeveled(made, leveled(made)!, 'trace', catalogue.category('custom', 'any')!, failed);
    turn('ANY', true);
    assert.equal(Object.keys(made).includes('debug'), false, 'no enumerable property more');
    const mine = () => lines.push('mine');
    assert.notEqual(made.trace, before);
    made.trace = mine;
    made.level = 'warn';
    stop();
    assert.deepEqual([made.trace, made.level, Object.hasOwn(made, 'debug')], [mine, 'warn', false]);
  });

  it('that is as verbose already keeps its lines as its own', () => {
    const { catalogue, gate, turn } = bench();
    const { made, lines } = logger();
    made.level = 'debug';
    const { debug } = made;
    adoptLeveled(made, leveled(made)!, 'debug', catalogue.category('custom', 'any')!, failed);
    turn('ANY', true);
    assert.equal(made.debug, debug);
    (debug as (text: string) => void)('text');
    assert.deepEqual([lines, gate.callsTotal(0)], [['debug 1'], 0]);
  });

  it('whose level cannot be set is told, and stays as it is', () => {
    const { catalogue, turn } = bench();
    const errors: unknown[] = [];
    const broken = {
      getLevel: () => 'info',
      setLevel: () => {
        throw new Error('its own');
      },
    };
    const stop = adoptLeveled(broken, leveled(broken)!, 'debug', catalogue.category('custom', 'any')!, (error) =>
      errors.push(error),
    );
    assert.doesNotThrow(() => turn('ANY', true));
    assert.equal(errors.length, 1);
    stop();
    assert.equal(leveled({ level: () => 'a method' }), undefined);
    assert.equal(leveled({}), undefined);
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
