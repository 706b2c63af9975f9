import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { it, type TestContext } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Logger } from 'pino';
import { findPino } from '../../src/adopt/pino/logger.ts';
import { PINO as source } from '../../src/adopt/pino/pino.ts';
import type { AdoptPinoOptions } from '../../src/options/options.ts';
import { adoptionBench, loadCopy, propertiesOf } from './bench.ts';

type Pino = typeof import('pino').default;

interface Line {
  readonly level: number;
  readonly msg: string;
}

/** A fresh copy of pino that is adopted, and a stream whose lines are kept. */
export function setUp(
  t: TestContext,
  copy: string,
  bindings?: AdoptPinoOptions['bindings'],
  callsPerSecond?: number,
  adopts = true,
) {
  const { exports: pino, version } = loadCopy<Pino>(copy);
  const bench = adoptionBench(t, [source], {
    options: { pino: bindings === undefined ? adopts : { bindings } },
    ...(callsPerSecond !== undefined && { callsPerSecond }),
  });
  const lines: Line[] = [];
  const out = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const load = () => bench.load('pino', version, pino);
  load();
  const written = () =>
    lines
      .splice(0)
      .map(({ level, msg }) => `${level} ${msg}`)
      .join(', ');
  /** What comes out of a logger on which every level is called. */
  const say = (logger: Logger) => {
    logger.trace('t');
    logger.debug({ a: 1 }, 'd');
    logger.info('i');
    return written();
  };
  return { ...bench, pino, version, lines, out, written, say, load };
}

const ALL = '10 t, 20 d, 30 i';

/** What holds for every supported version. @param copy name of the package's folder */
export function pinoCases(copy: string): void {
  it('lines below INFO come out of its own destination while the category of the logger is on', (t) => {
    const { pino, out, say, turn, names, counted } = setUp(t, copy);
    const root = pino({}, out);
    const request = root.child({ requestId: 1 });
    const database = root.child({ module: 'database' });
    const query = database.child({ table: 'orders' });
    assert.deepEqual(names(), ['APP', 'DATABASE']);
    for (const logger of [root, request, database, query]) assert.equal(say(logger), '30 i');
    turn('APP', true);
    assert.deepEqual([root, request, database, query].map(say), [ALL, ALL, '30 i', '30 i']);
    assert.equal(counted('APP'), 4);
    turn('APP', false);
    turn('DATABASE', true);
    assert.deepEqual([root, request, database, query].map(say), ['30 i', '30 i', ALL, ALL]);
    assert.equal(counted('DATABASE'), 4);
    assert.equal(root.level, 'info');
  });

  it('what a level above debug holds back comes out while the category is on, info lines and those of children included', (t) => {
    for (const level of ['warn', 'error', 'fatal']) {
      const { pino, out, written, turn, reset, counted } = setUp(t, copy);
      const root = pino({ level }, out);
      const own = root.child({ module: 'own' });
      const louder = root.child({ module: 'louder' }, { level: 'info' });
      const loggers = [root, root.child({ request: 1 }), own, louder];
      const say = (logger: Logger) => {
        for (const each of ['trace', 'debug', 'info', 'warn', 'error'] as const) logger[each](each);
        return written();
      };
      const before = loggers.map(say);
      const ALL_LEVELS = '10 trace, 20 debug, 30 info, 40 warn, 50 error';
      for (const name of ['APP', 'OWN', 'LOUDER']) turn(name, true);
      assert.deepEqual(loggers.map(say), Array(4).fill(ALL_LEVELS));
      assert.ok(loggers.every((logger) => logger.isLevelEnabled('info')));
      // Lines that the level admits are no debug calls.
      assert.equal(counted('LOUDER'), 2);
      assert.equal(counted('OWN'), { warn: 3, error: 4, fatal: 5 }[level]);
      turn('OWN', false);
      reset('LOUDER');
      assert.deepEqual([own, louder].map(say), before.slice(2));
      assert.equal(own.isLevelEnabled('info'), false);
      root.level = 'info';
      turn('APP', false);
      assert.equal(say(root), '30 info, 40 warn, 50 error');
    }
  });

  it('info lines that a category lets through have its budget, and those that the level admits have none', (t) => {
    const { pino, out, written, turn } = setUp(t, copy, undefined, 1);
    const root = pino({ level: 'warn' }, out);
    turn('APP', true);
    for (let at = 0; at < 3; at++) {
      root.info('i');
      root.warn('w');
    }
    assert.equal(written(), '30 i, 40 w, 40 w, 40 w');
  });

  it('children named by data share the category of their parent, and are switched with it', (t) => {
    const { pino, out, say, turn, names, warnings } = setUp(t, copy);
    const root = pino({ name: 'shop' }, out);
    let last = root;
    for (let at = 0; at < 1000; at++) last = root.child({ name: `user-${at}` }) as typeof root;
    assert.ok(names().length < 300, `${names().length} categories`);
    assert.equal(warnings.length, 1);
    assert.equal(say(last), '30 i');
    turn('SHOP', true);
    assert.equal(say(last), ALL);
    assert.equal(say(root.child({ name: 'late' }) as typeof root), ALL);
  });

  it('names come from the first of name, module, component and logger, or from what is configured', (t) => {
    const usual = setUp(t, copy);
    const root = usual.pino({ name: 'shop' }, usual.out);
    root.child({ component: 'cart', module: 'basket' });
    root.child({ logger: 'mail', name: '' });
    root.child({ module: 7 });
    assert.deepEqual(usual.names(), ['SHOP', 'BASKET', 'MAIL']);
    const listed = setUp(t, copy, ['area']);
    listed.pino({ name: 'shop' }, listed.out).child({ area: 'billing', module: 'x' });
    assert.deepEqual(listed.names(), ['APP', 'BILLING']);
    const computed = setUp(t, copy, ({ unit, name }) => (unit ? `unit-${unit}` : (name as string)));
    computed.pino({ name: 'shop' }, computed.out).child({ unit: 4 });
    assert.deepEqual(computed.names(), ['SHOP', 'UNIT_4']);
  });

  it('a logger whose own level is debug is on by default, and off silences it', (t) => {
    const { pino, out, say, turn, reset, byDefault, counted } = setUp(t, copy, undefined, 1);
    const root = pino({ level: 'debug', name: 'verbose' }, out);
    assert.equal(byDefault('VERBOSE'), true);
    for (let times = 0; times < 3; times++) assert.equal(say(root), '20 d, 30 i');
    assert.equal(counted('VERBOSE'), 3);
    turn('VERBOSE', false);
    assert.equal(say(root), '30 i');
    assert.equal(root.isLevelEnabled('debug'), false);
    reset('VERBOSE');
    assert.equal(say(root), '20 d, 30 i');
    turn('VERBOSE', true);
    assert.match(say(root), /^10 t/);
  });

  it("the application's level, its changes and its listeners hold", (t) => {
    const { pino, out, say, turn, reset } = setUp(t, copy);
    const root = pino({}, out);
    const levels: unknown[] = [];
    root.on('level-change', (level: unknown, value: unknown) => levels.push(level, value));
    root.level = 'debug';
    assert.equal(say(root), '20 d, 30 i');
    root.level = 'warn';
    assert.equal(say(root), '');
    turn('APP', true);
    assert.equal(say(root), ALL);
    assert.deepEqual([root.level, root.levelVal], ['warn', 40]);
    root.level = 'info';
    assert.equal(say(root), ALL);
    reset('APP');
    assert.equal(say(root), '30 i');
    assert.deepEqual(levels, ['debug', 20, 'warn', 40, 'info', 30]);
    assert.throws(() => {
      root.level = 'nonsense';
    }, /unknown level/);
  });

  it('a child that has a level of its own keeps it, and one that has none follows its parent as pino has it', (t) => {
    const { pino, out, say, turn, reset } = setUp(t, copy);
    const root = pino({}, out);
    const own = root.child({ requestId: 1 }, { level: 'debug' });
    const named = root.child({ module: 'database' });
    assert.deepEqual([root, own, named].map(say), ['30 i', '20 d, 30 i', '30 i']);
    const bare = loadCopy<Pino>(copy).exports({}, out);
    const bareChild = bare.child({ module: 'database' });
    root.level = 'debug';
    bare.level = 'debug';
    assert.equal(say(named), say(bareChild));
    turn('APP', false);
    assert.equal(say(own), '30 i');
    turn('DATABASE', true);
    assert.equal(say(named), ALL);
    reset('APP');
    assert.equal(say(own), '20 d, 30 i');
  });

  it('mixins, serializers, formatters, redaction and hooks take part, and the taps get the same line', (t) => {
    const { pino, out, lines, turn, tap, written } = setUp(t, copy);
    const options = {
      base: null,
      timestamp: false,
      redact: ['card.number'],
      mixin: () => ({ mixed: true }),
      serializers: { user: ({ id }: { id: number }) => id },
      formatters: { level: (label: string) => ({ level: label }) },
      hooks: {
        logMethod(this: Logger, args: Parameters<Logger['info']>, method: (...args: unknown[]) => void) {
          method.apply(this, [args[0], `hooked ${args[1]}`, ...args.slice(2)]);
        },
      },
    };
    const root = pino(options as never, out);
    const { calls } = tap('APP');
    root.debug({ user: { id: 7, name: 'x' }, card: { number: '4711' } }, 'paid %d', 5);
    assert.equal(written(), '');
    turn('APP', true);
    root.debug({ user: { id: 7, name: 'x' }, card: { number: '4711' } }, 'paid %d', 5);
    const fields = { mixed: true, user: 7, card: { number: '[Redacted]' } };
    assert.deepEqual(lines, [{ level: 'debug', ...fields, msg: 'hooked paid 5' }]);
    const taken = calls.map(({ message, attributes }) => ({ message, user: attributes.user }));
    assert.deepEqual(taken, Array(2).fill({ message: 'hooked paid 5', user: 7 }));
    assert.ok(!JSON.stringify(calls).includes('4711'));
  });

  it('custom levels pass, those above INFO that the level holds back included', (t) => {
    const { pino, out, turn, written } = setUp(t, copy);
    const root = pino({ level: 'warn', customLevels: { http: 25, notice: 35 } }, out);
    const child = root.child({ module: 'x' }, { customLevels: { chatter: 15 } } as never) as typeof root & {
      chatter(text: string): void;
    };
    turn('APP', true);
    turn('X', true);
    root.http('h');
    root.notice('n');
    child.chatter('c');
    child.debug('d');
    assert.equal(written(), '25 h, 35 n, 15 c, 20 d');
  });

  it('isLevelEnabled answers whether a line would be wanted', (t) => {
    const { pino, out, turn, tap } = setUp(t, copy);
    const root = pino({}, out);
    const child = root.child({ module: 'database' });
    const enabled = () => [root, child].map((logger) => logger.isLevelEnabled('debug'));
    assert.deepEqual(enabled(), [false, false]);
    turn('DATABASE', true);
    assert.deepEqual(enabled(), [false, true]);
    const { stop } = tap('APP');
    assert.deepEqual(enabled(), [true, true]);
    stop();
    assert.deepEqual(enabled(), [false, true]);
    assert.deepEqual(
      ['info', 'nonsense'].map((level) => root.isLevelEnabled(level)),
      [true, false],
    );
  });

  it('a level lets out less, or takes away less urgent lines, of children too; errors always come out', (t) => {
    const { pino, out, written, turn, reset, counted } = setUp(t, copy);
    const root = pino({}, out);
    const terse = pino({ level: 'error' }, out);
    const early = root.child({ requestId: 1 });
    const chatty = early.child({ requestId: 2 }, { level: 'trace' });
    const say = (logger: Logger) => {
      for (const each of ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const) logger[each](each);
      return written();
    };
    const late = () => root.child({ requestId: 3 }) as Logger;
    const all = () => [root, terse, early, chatty, late()].map(say);
    const errors = '50 error, 60 fatal';
    const warnings = `40 warn, ${errors}`;
    const infos = `30 info, ${warnings}`;
    const debugs = `20 debug, ${infos}`;
    const traces = `10 trace, ${debugs}`;
    const own = [infos, errors, infos, traces, infos];
    assert.deepEqual(all(), own);
    const levels = { silly: traces, trace: traces, debug: debugs, info: infos } as const;
    for (const [level, lines] of Object.entries(levels)) {
      turn('APP', true, level as keyof typeof levels);
      assert.deepEqual(all(), Array(5).fill(lines), level);
    }
    assert.deepEqual(
      ['debug', 'info', 'warn'].map((level) => terse.isLevelEnabled(level)),
      [false, true, true],
    );
    const before = counted('APP');
    turn('APP', true, 'warn');
    assert.deepEqual(all(), [warnings, errors, warnings, warnings, warnings]);
    assert.deepEqual(
      ['debug', 'info', 'warn', 'fatal'].map((level) => chatty.isLevelEnabled(level)),
      [false, false, true, true],
    );
    turn('APP', true, 'error');
    assert.deepEqual(all(), Array(5).fill(errors));
    assert.equal(counted('APP'), before);
    reset('APP');
    assert.deepEqual(all(), own);
  });

  it('a level for one tenant, or for one user, is for their lines alone', (t) => {
    const { pino, out, gate, written, turn, turnFor, turnForUser, reset } = setUp(t, copy);
    const root = pino({}, out);
    const say = () => {
      for (const each of ['trace', 'debug', 'info', 'warn'] as const) root[each](each);
      return written();
    };
    const inTenants = () => ['acme', 'other'].map((tenant) => gate.runWithTenant(tenant, say));
    turnFor('acme', 'APP', true, 'warn');
    assert.deepEqual([...inTenants(), say()], ['40 warn', '30 info, 40 warn', '30 info, 40 warn']);
    turn('APP', true, 'debug');
    turnFor('other', 'APP', true);
    assert.deepEqual(inTenants(), ['40 warn', '10 trace, 20 debug, 30 info, 40 warn']);
    assert.equal(say(), '20 debug, 30 info, 40 warn');
    turnFor('acme', 'APP', undefined);
    turnFor('other', 'APP', undefined);
    reset('APP');
    assert.deepEqual([...inTenants(), say()], Array(3).fill('30 info, 40 warn'));
    root.level = 'error';
    const stop = turnForUser('42', 'APP', 'info');
    assert.equal(gate.work.run({ 'user.id': '42' }, say), '30 info, 40 warn');
    assert.equal(gate.work.run({ 'user.id': '7' }, say), '');
    stop();
    assert.equal(gate.work.run({ 'user.id': '42' }, say), '');
  });

  it('a silent logger stays silent', (t) => {
    const { pino, out, say, turn } = setUp(t, copy);
    const root = pino({ level: 'silent' }, out);
    turn('APP', true);
    assert.equal(say(root), '');
    assert.equal(root.isLevelEnabled('debug'), false);
    root.level = 'info';
    assert.equal(say(root), ALL);
  });

  it('a destination that throws does so in lines that the application has, and in no other', (t) => {
    const { pino, turn, warnings } = setUp(t, copy);
    const root = pino(
      {},
      {
        write: () => {
          throw new Error('disk full');
        },
      },
    );
    turn('APP', true);
    root.debug('ours');
    assert.throws(() => root.info('theirs'), /disk full/);
    assert.match(warnings.join(), /disk full/);
  });

  it('loggers behind a Proxy are the same loggers', (t) => {
    const { pino, out, say, turn } = setUp(t, copy);
    const proxy = new Proxy(pino({}, out), {});
    turn('APP', true);
    assert.equal(say(proxy), ALL);
    const child = proxy.child({ module: 'database' });
    assert.equal(say(child), '30 i');
    turn('DATABASE', true);
    assert.equal(say(child), ALL);
  });

  it('a logger that was made before is adopted by itself, or with its first child', (t) => {
    const { pino, out, say, turn, leave, rejoin, names } = setUp(t, copy);
    leave();
    const early = pino({ name: 'early' }, out);
    const frozen = Object.freeze(pino({ name: 'frozen' }, out));
    rejoin();
    const child = early.child({ requestId: 1 });
    turn('EARLY', true);
    assert.deepEqual([early, child, frozen].map(say), [ALL, ALL, '30 i']);
    assert.ok(!names().includes('FROZEN'));
  });

  it('everything is as it was when the adoption ends, and adopted again when it begins again', (t) => {
    const { pino, out, say, turn, leave, rejoin, load } = setUp(t, copy);
    leave();
    const existing = pino({ level: 'debug', name: 'existing' }, out);
    const { prototype } = findPino(existing)!;
    const before = propertiesOf(prototype, pino, existing, EventEmitter.prototype);
    const shape = propertiesOf(pino({}, out), pino({}, out).child({ module: 'm' }), pino({}, out).child({ r: 1 }));
    rejoin();
    load();
    const root = pino({}, out);
    const made = [root, root.child({ module: 'm' }), root.child({ r: 1 })];
    existing.child({ r: 2 });
    turn('APP', true);
    turn('M', true);
    turn('EXISTING', false);
    const held = root.debug.bind(root);
    assert.deepEqual(made.map(say), [ALL, ALL, ALL]);
    assert.equal(say(existing), '30 i');
    leave();
    assert.deepEqual(propertiesOf(prototype, pino, existing, EventEmitter.prototype), before);
    const keys = (all: typeof shape) => all.map((properties) => properties.map(([key]) => key));
    assert.deepEqual(keys(propertiesOf(...made)), keys(shape));
    assert.deepEqual(made.map(say), ['30 i', '30 i', '30 i']);
    assert.equal(say(existing), '20 d, 30 i');
    held('not written');
    assert.equal(say(root), '30 i');
    rejoin();
    load();
    assert.deepEqual(made.map(say), [ALL, ALL, ALL]);
    assert.equal(say(existing), '30 i');
  });

  it('adopt() takes a logger with its children, or the whole module, without the option', (t) => {
    const { pino, out, say, turn, adopter, names, leave, rejoin } = setUp(t, copy, undefined, undefined, false);
    const [first, second, other] = [pino({}, out), pino({}, out), pino({}, out)];
    const before = propertiesOf(first, second);
    const stopFirst = adopter.adopt(first, { category: 'FIRST' });
    const stopSecond = adopter.adopt(second, {});
    const child = first.child({ module: 'database' });
    const named = second.child({ module: 'orders' });
    assert.deepEqual(names(), ['FIRST', 'APP', 'ORDERS']);
    turn('FIRST', true);
    turn('ORDERS', true);
    assert.deepEqual([first, child, second, named, other].map(say), [ALL, ALL, '30 i', ALL, '30 i']);
    leave();
    assert.deepEqual([first, child, second, named, other].map(say), Array(5).fill('30 i'));
    rejoin();
    assert.deepEqual([first, child, second, named, other].map(say), [ALL, ALL, '30 i', ALL, '30 i']);
    stopFirst();
    assert.deepEqual([first, child, second, named, other].map(say), ['30 i', '30 i', '30 i', ALL, '30 i']);
    stopSecond();
    assert.deepEqual(propertiesOf(first, second), before);
    const stop = adopter.adopt(pino, {});
    const late = pino({ name: 'late' }, out);
    turn('LATE', true);
    assert.equal(say(late), ALL);
    stop();
    assert.equal(say(late), '30 i');
  });
}

function collector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc');
}

/** @param children made, two for each request */
export function leavesNothing(copy: string, requests: number): void {
  it('children made for each request leave nothing behind', async (t) => {
    const { pino, out } = setUp(t, copy);
    const root = pino({}, out);
    const collect = collector();
    const used = async () => {
      await new Promise(setImmediate);
      collect();
      return process.memoryUsage().heapUsed;
    };
    const make = (count: number) => {
      for (let made = 0; made < count; made++) {
        root.child({ requestId: made }).debug('x');
        root.child({ module: 'database', requestId: made }, { level: 'warn' }).debug('x');
      }
    };
    make(2000);
    const before = await used();
    make(requests);
    const growth = (await used()) - before;
    assert.ok(growth < 1_500_000, `${growth} bytes`);
  });

  it('only the newest loggers are kept for the lines that pino writes at the exit', async (t) => {
    const { pino } = setUp(t, copy);
    const make = (count: number) =>
      Array.from({ length: count }, () => {
        const destination = { write: () => undefined };
        pino({}, destination).info('held back by an asynchronous destination');
        return new WeakRef(destination);
      });
    const collect = collector();
    /** What a caller of the last turn still refers to is collected in a later one. */
    const assertKept = async (destinations: readonly WeakRef<object>[], most: number) => {
      let kept = destinations.length;
      for (let turn = 0; turn < 20 && kept > most; turn++) {
        await new Promise(setImmediate);
        collect();
        kept = destinations.filter((destination) => destination.deref() !== undefined).length;
      }
      assert.equal(kept, most);
    };
    const first = make(1);
    await new Promise(setImmediate);
    collect();
    assert.notEqual(first[0]?.deref(), undefined);
    const others = make(100);
    await assertKept(first, 0);
    await assertKept(others, 16);
  });
}
