import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { it, type TestContext } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Logger } from 'pino';
import type { AdoptOptions } from '../../src/options/adopt.ts';
import { loadCopy } from './bench.ts';
import { adopted, type Pino } from './loggers.ts';

interface Line {
  readonly level: number;
  readonly msg: string;
}

/** A fresh copy of pino that is adopted, and a stream whose lines are kept. */
export function setUp(t: TestContext, copy: string, options: AdoptOptions['pino'] = true) {
  const { exports: pino, ...bench } = adopted(t, 'pino', { copy, options: { pino: options } });
  const lines: Line[] = [];
  const out = { write: (line: string) => void lines.push(JSON.parse(line)) };
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
  return { ...bench, pino, lines, out, written, say };
}

const ALL = '10 t, 20 d, 30 i';

/** What holds for every supported version. @param copy name of the package's folder */
export function pinoCases(copy: string): void {
  it('a child with a name of its own is a category of its own, any other belongs to its parent', (t) => {
    const { pino, out, say, turn, names, counted } = setUp(t, copy);
    const root = pino({}, out);
    const database = root.child({ module: 'database' });
    const loggers = [root, root.child({ requestId: 1 }), database, database.child({ table: 'orders' })];
    assert.deepEqual(names(), ['APP', 'DATABASE']);
    turn('DATABASE', true);
    assert.deepEqual(loggers.map(say), ['30 i', '30 i', ALL, ALL]);
    assert.deepEqual([counted('APP'), counted('DATABASE'), root.level], [0, 4, 'info']);
  });

  it('names come from the first of name, module, component and logger, or from what is configured', (t) => {
    const usual = setUp(t, copy);
    const root = usual.pino({ name: 'shop' }, usual.out);
    root.child({ component: 'cart', module: 'basket' });
    root.child({ logger: 'mail', name: '' });
    root.child({ module: 7 });
    assert.deepEqual(usual.names(), ['SHOP', 'BASKET', 'MAIL']);
    const listed = setUp(t, copy, { bindings: ['area'] });
    listed.pino({ name: 'shop' }, listed.out).child({ area: 'billing', module: 'x' });
    assert.deepEqual(listed.names(), ['APP', 'BILLING']);
    const computed = setUp(t, copy, {
      bindings: ({ unit, name }) => (unit ? `unit-${unit}` : (name as string)),
    });
    computed.pino({ name: 'shop' }, computed.out).child({ unit: 4 });
    assert.deepEqual(computed.names(), ['SHOP', 'UNIT_4']);
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

  it('methods do what they do without us when they are called without their logger, or were replaced by the application', (t) => {
    const use = (pino: Pino) => {
      const out: string[] = [];
      const root = pino({ base: null, timestamp: false, level: 'info' } as never, { write: (line) => out.push(line) });
      const { debug, info } = root;
      for (const method of [debug, info, root.child({ name: 'child' }).debug] as ((text: string) => void)[]) {
        for (const self of [undefined, null, new EventEmitter()]) {
          try {
            out.push(String(method.call(self, 'detached')));
          } catch (error) {
            out.push((error as Error).name);
          }
        }
      }
      root.debug = () => void out.push('replaced');
      root.child({ name: 'named' }).debug('child');
      root.child({ id: 1 }).debug('child');
      root.debug('root');
      return out;
    };
    assert.deepEqual(use(setUp(t, copy).pino), use(loadCopy<Pino>(copy).exports));
  });

  it('a child stays adopted when its parent, which was handed over, is given back', (t) => {
    const { pino, out, say, turn, adopter } = setUp(t, copy);
    const root = pino({}, out);
    const child = root.child({ module: 'database' });
    adopter.adopt(root, { category: 'ROOT' })();
    turn('DATABASE', true);
    assert.equal(say(child), ALL);
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
          if (args[1] !== 'left out') method.apply(this, [args[0], `hooked ${args[1]}`, ...args.slice(2)]);
        },
      },
    };
    const root = pino(options as never, out);
    const { calls } = tap('APP');
    root.debug({ user: { id: 7, name: 'x' }, card: { number: '4711' } }, 'paid %d', 5);
    root.debug({}, 'left out');
    assert.equal(written(), '');
    turn('APP', true);
    root.debug({}, 'left out');
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
    assert.deepEqual(
      ['debug', 'chatter', 'nonsense'].map((level) => child.isLevelEnabled(level)),
      [true, true, false],
    );
    turn('APP', true, 'error');
    root.notice('n');
    root.fatal('f');
    assert.equal(written(), '60 f');
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

  it('a method that the application has bound writes nothing more of a category that was on when the adoption ends', (t) => {
    const { pino, out, written, turn, leave } = setUp(t, copy);
    const root = pino({}, out);
    turn('APP', true);
    const held = root.debug.bind(root);
    held('d');
    leave();
    held('not written');
    assert.equal(written(), '20 d');
  });

  it('adopt() takes a logger with its children, in its category or each in its own', (t) => {
    const { pino, out, say, turn, adopter, names } = setUp(t, copy, false);
    const [first, second, other] = [pino({}, out), pino({}, out), pino({}, out)];
    const undo = adopter.adopt(first, { category: 'FIRST' });
    adopter.adopt(second, {});
    const loggers = [first.child({ module: 'database' }), second, second.child({ module: 'orders' }), other];
    assert.deepEqual(names(), ['FIRST', 'APP', 'ORDERS']);
    for (const name of ['FIRST', 'ORDERS']) turn(name, true);
    assert.deepEqual(loggers.map(say), [ALL, '30 i', ALL, '30 i']);
    undo();
    assert.deepEqual(loggers.map(say), ['30 i', '30 i', ALL, '30 i']);
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
