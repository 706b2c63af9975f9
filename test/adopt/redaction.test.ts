// In a process of its own: it patches `debug` and `util.debuglog`.

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import util, { inspect } from 'node:util';
import fc from '../support/fast-check.ts';
import { adoptionBench, type Level } from './bench.ts';
import { LOGGERS, type Log, type LoggerKind, type LoggerName } from './loggers.ts';
import { setUp as setUpPino } from './pino-cases.ts';
import { setUp as setUpWinston } from './winston-cases.ts';

const SECRET = 'hunter2-hunter2';
const JWT = `eyJhbGciOiJIUzI1NiJ9.${Buffer.from(SECRET).toString('base64url')}.c2lnbmF0dXJl`;

interface Case {
  readonly kind: Pick<LoggerKind, 'adopt' | 'leavesAdmitted'>;
  /** Whether its lines are formatted, so that a text may have its secret in an argument. @default true */
  readonly formats?: false;
  /** Whether secrets in arguments that `%O` stands for are known by their text alone. @default false */
  readonly textOnly?: true;
}

const NAMES: readonly LoggerName[] = [
  ...(['debug 2.6.9', 'debug 3.2.7', 'debug 4.4.3'] as const).flatMap(
    (each) => [each, `${each} with a log of the application`] as const,
  ),
  ...(['pino 10', 'a level in words, handed over'] as const),
];
const INSTANCES: readonly LoggerName[] = [
  'an instance of debug 2.6.9, handed over',
  'an instance of debug 3.2.7, handed over',
  'an instance of debug 4.4.3, handed over',
];

const CASES: Readonly<Record<string, Case>> = {
  ...Object.fromEntries(NAMES.map((name) => [name, { kind: LOGGERS[name] }])),
  ...Object.fromEntries(INSTANCES.map((name) => [name, { kind: LOGGERS[name], textOnly: true } satisfies Case])),
  'Nest 11': { kind: LOGGERS['Nest 11'], formats: false },
  'util.debuglog': {
    kind: {
      adopt(t, options = {}) {
        // Node has read NODE_DEBUG already.
        if (options.level === 'debug') {
          t.mock.method(util, 'debuglog', () => Object.assign(() => {}, { enabled: true }));
        }
        return LOGGERS['util.debuglog'].adopt(t, options);
      },
    },
  },
  'pino with serializers': {
    kind: {
      adopt(t, { level } = {}) {
        const { pino, out, lines, ...bench } = setUpPino(t, 'pino');
        const serializers = {
          session: (value: unknown) => ({ password: SECRET, value }),
          a: (value: unknown) => value,
        };
        const log = pino({ level: level === 'info' ? 'warn' : 'debug', name: 'app', serializers }, out).child({
          name: 'child',
        });
        const call = log[level === 'info' ? 'info' : 'debug'] as Log;
        const debug: Log = (first, ...rest) => call.call(log, { session: first }, 'session %o', ...rest);
        return { bench, category: 'CHILD', methods: () => ({ debug }), written: () => lines.splice(0) };
      },
    },
    formats: false,
  },
  'a child of winston whose formats splat': {
    kind: {
      adopt(t, { level = 'info' } = {}) {
        const { winston, memory, ...bench } = setUpWinston(t, 'winston');
        const transport = memory();
        const { combine, splat, errors, json } = winston.format;
        const format = combine(errors({ stack: true }), splat(), json());
        const root = winston.createLogger({ level, format, defaultMeta: { service: 'app' }, transports: [transport] });
        const log = root.child({ service: 'child' });
        const debug = log.debug.bind(log) as Log;
        const written = () => transport.lines.splice(0);
        return { bench, category: 'CHILD', methods: () => ({ debug }), written };
      },
    },
  },
};

class Session {
  readonly user = 'ann';
  readonly sessionToken = SECRET;
}

class Opaque {
  readonly #secret = SECRET;
  [inspect.custom]() {
    return this.#secret;
  }
  toJSON() {
    return { password: this.#secret };
  }
}

/** Times, and those between lines. */
const VARIES =
  /\w{3}, \d+ \w{3} \d{4} [\d:]+ GMT|\+\d+ms|time: \d+|\d{4}-\d\d-\d\dT[\d:.]+Z|\d+\/\d+\/\d+, [\d:]+ [AP]M/g;

const cyclic: Record<string, unknown> = { password: SECRET };
cyclic.self = cyclic;
let deep: unknown = { password: SECRET };
for (let depth = 0; depth < 20; depth++) deep = { deep };

/** Each holds the secret under a name, or in a form, that tells it. */
const HOLDERS: readonly unknown[] = [
  { password: SECRET },
  { a: [{ b: { apiKey: SECRET } }] },
  Object.freeze({ user: Object.freeze({ secretKey: SECRET }) }),
  { 'user[password]': SECRET },
  { [Symbol('token')]: SECRET, a: 1 },
  { headers: [{ name: 'authorization', value: SECRET }] },
  { rawHeaders: ['Host', 'shop', 'Cookie', SECRET] },
  new Map([['password', SECRET]]),
  new Map([[{}, { token: SECRET }]]),
  new Set([{ token: SECRET }]),
  new Headers({ 'x-api-key': SECRET }),
  new URL(`https://ann:${SECRET}@shop.example/`),
  new URLSearchParams({ token: SECRET }),
  new Session(),
  new Opaque(),
  new Proxy({ password: SECRET }, {}),
  Object.defineProperty({ a: 1 }, 'password', { get: () => SECRET, enumerable: true }),
  Object.defineProperty({ a: 1 }, 'password', { value: SECRET, enumerable: false }),
  Object.assign(new Error('failed'), { config: { headers: { Authorization: SECRET } } }),
  new Error('failed', { cause: { password: SECRET } }),
  new Error(`postgres://app:${SECRET}@db is away`),
  cyclic,
  deep,
  Object.assign(new Error(`postgres://app:${SECRET}@db is away`), { cyclic, deep }),
  `Bearer ${SECRET}`,
  `token ${JWT}`,
  { text: `amqp://app:${SECRET}@queue` },
];

/** Those whose secret is behind its name in what `%O` makes of them. */
const IN_TEXT = HOLDERS.slice(0, 3).concat(`Bearer ${SECRET}`, `token ${JWT}`);

for (const [name, { kind, formats = true, textOnly = false }] of Object.entries(CASES)) {
  describe(`${name}: a secret is in no output`, () => {
    const held = fc.constantFrom(...(textOnly ? IN_TEXT : HOLDERS));
    const message = fc.constantFrom('login', 'login %s', 'login %o', 'login %O', 'login %j', 'login %d %o', '%s %O');
    const call = fc.oneof(
      fc.tuple(message, held),
      fc.tuple(message, held, held),
      fc.tuple(held),
      fc.tuple(held, message, held),
      fc.constant(['auth with Bearer %s', SECRET]),
      fc.constant(['connecting to redis://app:%s@cache', SECRET]),
      fc.constant(['header %s=%s', 'authorization', SECRET]),
    );
    const setUp = async (t: TestContext, level: Level) => {
      const { bench, category, methods, written } = await kind.adopt(t, { level });
      const log: Log = (...args) => methods().debug?.(...args);
      return { bench, category, log, written };
    };
    const check = async (t: TestContext, level: Level) => {
      const { bench, category, log, written } = await setUp(t, level);
      const { calls } = bench.tap(category);
      // What the logger writes by itself is its own.
      const own = () => (level === 'info' ? written() : []);
      const shown = () => inspect([bench.records.splice(0), calls.splice(0), own()], { depth: 20, showHidden: true });
      if (level === 'info') bench.turn(category, true);
      else assert.ok(bench.byDefault(category));
      let some = 0;
      fc.assert(
        fc.property(call, (args) => {
          if (!formats && args.includes(SECRET)) return;
          log(...args);
          const out = shown();
          if (out.includes('redacted') || out.includes('login')) some += 1;
          assert.ok(!out.includes(SECRET) && !out.includes(JWT), out);
        }),
        { numRuns: 150 },
      );
      assert.ok(some > 50, `${some} lines came out`);
      assert.deepEqual(bench.errors, []);
    };
    it('of a category that is on, and of a reader of the tail, whatever formats the arguments', (t) =>
      check(t, 'info'));
    // At its own level debug, a logger of another library is left alone.
    for (const level of kind.leavesAdmitted ? (['info'] as const) : (['info', 'debug'] as const)) {
      it(`of what is recorded, and the logger's own lines stay as they are, at its level ${level}`, async (t) => {
        const { bench, log, written } = await setUp(t, level);
        const own = () => inspect(written(), { depth: 20, showHidden: true }).replace(VARIES, '');
        const calls = fc.sample(call, 100).filter((args) => formats || !args.includes(SECRET));
        const say = (args: readonly unknown[]) => {
          bench.gate.work.runNamed('job', () => log(...args));
          return own();
        };
        for (const args of calls) {
          const before = say(args);
          bench.recordAll(true);
          assert.equal(say(args), before);
          bench.recordAll(false);
        }
        bench.recordAll(true);
        for (const args of calls) say(args);
        const past = inspect(await bench.past(), { depth: 20, maxArrayLength: null, maxStringLength: null });
        assert.ok(
          !past.includes(SECRET) && !past.includes(JWT),
          past.split('\n').find((line) => line.includes(SECRET)) ?? 'a token',
        );
        assert.equal((await bench.past()).length, calls.length);
        bench.recordAll(false);
        assert.deepEqual([bench.errors, bench.records], [[], []]);
      });
    }
    if (kind.leavesAdmitted) return;
    it('of a reader of the tail, while only the logger itself has the category on', (t) => check(t, 'debug'));
  });
}

it('a call without a secret is written as it was, with the very objects', (t) => {
  const lines: unknown[][] = [];
  const logger = { level: 'info', debug: (...args: unknown[]) => void lines.push(args) };
  const bench = adoptionBench(t, []);
  bench.adopter.adopt(logger, { category: 'APP' });
  bench.turn('APP', true);
  for (const args of [
    ['at %s', new Date(0), { a: [1, { b: null }] }, new Error('failed'), Buffer.from('x'), /x/, 7n],
    ['path=%s method=%s %o', '/token', 'POST', ['/oauth/token', 'POST']],
    ['done', 'path=/token', 'method=POST', 'grant_type=token', 'next'],
  ]) {
    logger.debug(...args);
    assert.deepEqual(lines.at(-1), args);
    for (const [at, arg] of args.entries()) assert.equal(lines.at(-1)?.[at], arg);
  }
});

it('an error that holds itself, or much, is written as an error', (t) => {
  const { pino, out, lines, turn } = setUpPino(t, 'pino');
  const log = pino({ name: 'app' }, out);
  turn('APP', true);
  const error = new Error('failed');
  const fields: Readonly<Record<string, unknown>>[] = [
    { cause: error },
    { cyclic },
    { deep },
    { rows: Array.from({ length: 2000 }, (_, id) => ({ id })) },
  ];
  for (const each of fields) {
    log.debug(Object.assign(error, each), 'as it is');
    log.debug({ err: error }, 'in a field');
    for (const { err } of lines.splice(0) as unknown as { err: Record<string, string> }[]) {
      assert.equal(err.type, 'Error');
      assert.match(err.message!, /^failed/);
      assert.match(err.stack!, /^Error: failed\n {4}at /);
      assert.ok(!inspect(err, { depth: 20 }).includes('Circular ]'));
    }
  }
});

it('what a logger writes by itself is unchanged while its category is neither switched nor tailed', (t) => {
  const { pino, out, lines, turn, tap } = setUpPino(t, 'pino');
  const log = pino({ level: 'debug', name: 'app' }, out);
  const said = () => {
    log.debug({ password: 'p' }, 'said');
    return (lines.pop() as unknown as { password: string }).password;
  };
  assert.equal(said(), 'p');
  const { calls, stop } = tap('APP');
  assert.equal(said(), 'p');
  assert.equal(calls[0]?.attributes.password, '[redacted]');
  stop();
  turn('APP', true);
  assert.equal(said(), '[redacted]');
});

it('bindings of a pino logger are masked in a line that is there because its category is on', (t) => {
  const { pino, out, lines, turn } = setUpPino(t, 'pino');
  const root = pino({ level: 'info', name: 'app' }, out);
  const plain = root.child({ name: 'plain', order: 7 });
  const child = root.child({
    name: 'child',
    password: SECRET,
    nested: { token: SECRET, id: 7 },
    dsn: `redis://a:${SECRET}@db`,
  });
  for (const name of ['CHILD', 'PLAIN']) turn(name, true);
  child.debug('text');
  child.debug({ a: 1 }, 'fields');
  child.trace({ a: 1 });
  assert.ok(!inspect(lines, { depth: 20 }).includes(SECRET), inspect(lines, { depth: 20 }));
  const { name, password, nested, dsn } = lines[1] as unknown as Record<string, unknown>;
  assert.deepEqual(
    [name, password, nested, dsn],
    ['child', '[redacted]', { token: '[redacted]', id: 7 }, 'redis://[redacted]@db'],
  );
  child.setBindings({ apiKey: SECRET });
  child.debug('later');
  assert.equal((lines.at(-1) as unknown as { apiKey: string }).apiKey, '[redacted]');
  plain.debug('plain');
  assert.equal((lines.at(-1) as unknown as { order: number }).order, 7);
  child.info("the application's own line");
  assert.equal((lines.at(-1) as unknown as { password: string }).password, SECRET);
});

it("a tail shows what a winston transport's own format leaves, and no more", (t) => {
  const { winston, memory, turn, tap } = setUpWinston(t, 'winston');
  const hide = winston.format((info) => ({
    ...info,
    card: '****',
    message: String(info.message).replace('4711', '****'),
  }));
  const drop = winston.format((info) => {
    const { iban: _iban, ...rest } = info;
    return rest as typeof info;
  });
  const print = winston.format.printf(({ message }) => `line: ${String(message).replace('pin 99', 'pin **')}`);
  const plain = { level: 'info', defaultMeta: { service: 'app' } };
  winston
    .createLogger({ ...plain, transports: [memory(), memory({ format: hide() }), memory({ format: drop() })] })
    .debug('off');
  const first = winston.createLogger({
    ...plain,
    transports: [memory({ format: hide() }), memory({ format: drop() })],
  });
  const second = winston.createLogger({ ...plain, transports: [memory({ format: print })] });
  turn('APP', true);
  const { calls } = tap('APP');
  first.debug('card 4711', { card: 4711, iban: 'DE00', order: 7 });
  second.debug('pin 99');
  assert.deepEqual(
    calls.map(({ message }) => message),
    ['card ****', 'line: pin **'],
  );
  const { card, iban, order } = calls[0]!.attributes;
  assert.deepEqual([card, iban, order], ['****', undefined, 7]);
});
