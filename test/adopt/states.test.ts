// In a process of its own: it patches loggers, and sets a global logger of diagnostics.

import assert from 'node:assert/strict';
import { channel } from 'node:diagnostics_channel';
import { describe, it, type TestContext } from 'node:test';
import { inspect } from 'node:util';
import type { LoggerService } from '@nestjs/common';
import { DiagLogLevel, diag } from '@opentelemetry/api';
import { InMemoryLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs';
import { CHANNELS } from '../../src/adopt/channels/channels.ts';
import { NEST } from '../../src/adopt/nest/nest.ts';
import { OTEL_DIAG } from '../../src/adopt/otel/diag.ts';
import { gateLogs, loggerConfigurator } from '../../src/adopt/otel/logs.ts';
import { PINO } from '../../src/adopt/pino/pino.ts';
import { WINSTON } from '../../src/adopt/winston/winston.ts';
import { LEVEL } from '../../src/gate/levels.ts';
import { type AdoptionBench, adoptionBench, type BenchOptions, type Level, loadCopy } from './bench.ts';
import {
  type Adopted,
  destination,
  LEVELS,
  LOGGERS,
  type LoggerKind,
  type Nest,
  type Pino,
  type Winston,
} from './loggers.ts';

/** An object for `app.useLogger()`, as those of nestjs-pino and nest-winston: it passes Nest's lines on. */
const service = (to: Pick<import('pino').Logger, 'debug' | 'info' | 'warn' | 'error'>): LoggerService => ({
  log: (text) => void to.info(text),
  warn: (text) => void to.warn(text),
  error: (text) => void to.error(text),
  debug: (text) => void to.debug(text),
  verbose: (text) => void to.debug(text),
});

const nestBefore = (behind: 'pino' | 'winston'): LoggerKind => ({
  own: ['info', 'error'],
  adopt(t, { level = 'error', ...options } = {}) {
    const bench = adoptionBench(t, [NEST, PINO, WINSTON], options);
    const { stream, written } = destination({});
    const { exports: common, version } = loadCopy<Nest>('@nestjs/common');
    bench.load('@nestjs/common', version, common);
    const library = loadCopy<Pino & Winston>(behind);
    bench.load(behind, library.version, library.exports);
    common.Logger.overrideLogger(
      service(
        behind === 'pino'
          ? library.exports({ level }, stream)
          : (library.exports.createLogger({
              level,
              transports: [new library.exports.transports.Stream({ stream })],
            }) as never),
      ),
    );
    const logger = new common.Logger('Cats');
    const methods: ReturnType<Adopted['methods']> = {
      trace: (text) => logger.verbose(text),
      debug: (text) => logger.debug(text),
      info: (text) => logger.log(text),
      warn: (text) => logger.warn(text),
      error: (text) => logger.error(text),
    };
    return { bench, category: 'CATS', written, methods: () => methods };
  },
});

/** What has debug lines alone, and none by itself. */
const debugAlone = (adopt: (t: TestContext, options?: BenchOptions) => Adopted): LoggerKind => ({
  own: ['info'],
  adopt: (t, { level: _level, ...options } = {}) => adopt(t, options),
});

const SEVERITIES = { trace: 1, debug: 5, info: 9, warn: 13, error: 17 } as const;
let scopes = 0;

const otel = (options: object): LoggerKind => ({
  own: ['info'],
  adopt(t, { level: _level, ...others } = {}) {
    const bench = adoptionBench(t, [], others);
    const key = Symbol.for('opentelemetry-instrumentation-rdcp.adoption.v1');
    Object.defineProperty(globalThis, key, { value: bench.adopter, configurable: true });
    const lines: unknown[] = [];
    const exporter = new InMemoryLogRecordExporter();
    exporter.export = (records, done) => {
      lines.push(...records.map(({ body }) => body));
      done({ code: 0 });
    };
    const processors = [gateLogs(new SimpleLogRecordProcessor({ exporter }))];
    scopes += 1;
    const logger = new LoggerProvider({ processors, ...options }).getLogger(`cats ${scopes}`);
    logger.enabled({ severityNumber: 5 });
    const emit = (severityNumber: number) => (body: unknown) => logger.emit({ body: body as string, severityNumber });
    const methods = Object.fromEntries(Object.entries(SEVERITIES).map(([level, severity]) => [level, emit(severity)]));
    return {
      ...{ bench, category: `OTEL_CATS_${scopes}`, written: () => lines.splice(0), methods: () => methods },
      isEnabled: (level) => logger.enabled({ severityNumber: SEVERITIES[level as keyof typeof SEVERITIES] }),
    };
  },
});

const KINDS: Readonly<Record<string, LoggerKind>> = {
  ...LOGGERS,
  'Nest with pino behind': nestBefore('pino'),
  'Nest with winston behind': nestBefore('winston'),
  "an adapter's logger without Nest's": debugAlone((t, options) => {
    const bench = adoptionBench(t, [NEST, PINO], options);
    const { stream, written } = destination({});
    const { exports: make, version } = loadCopy<Pino>('pino');
    bench.load('pino', version, make);
    const pino = make({}, stream);
    class PinoLogger {
      readonly context = 'Cats';
      debug(text: unknown) {
        pino.debug({ context: this.context }, text as string);
      }
      setContext() {}
    }
    bench.load('nestjs-pino', '4.1.0', { PinoLogger });
    const logger = new PinoLogger();
    logger.debug('made known');
    const methods = { debug: (text: unknown) => logger.debug(text) };
    return { bench, category: 'CATS', written, methods: () => methods };
  }),
  'OpenTelemetry scopes': otel({}),
  'OpenTelemetry scopes by a configurator': otel({ loggerConfigurator: loggerConfigurator() }),
  "OpenTelemetry's diagnostics": debugAlone((t, options) => {
    const bench = adoptionBench(t, [OTEL_DIAG], options);
    diag.setLogger({ error() {}, warn() {}, info() {}, debug() {}, verbose() {} }, DiagLogLevel.ERROR);
    const component = diag.createComponentLogger({ namespace: 'cats' });
    const methods = { debug: (text: unknown) => component.debug(text as string) };
    return { bench, category: 'OTEL_DIAG', written: () => [], methods: () => methods };
  }),
  'diagnostics channels': debugAlone((t, options) => {
    const bench = adoptionBench(t, [CHANNELS], options);
    const created = channel('undici:request:create');
    const methods = { debug: (path: unknown) => created.publish({ request: { path } }) };
    return { bench, category: 'UNDICI', written: () => [], methods: () => methods };
  }),
};

/** What decides which lines come out: the logger's own level, or what an operator has switched. */
type Setting = 'own' | 'off' | 'on' | Level;

interface Logger {
  readonly own: Level;
  readonly least: Level;
  /** Lines below it are debug calls. */
  readonly ordinary: number;
}

const loggerOf = ({ least = 'silly', leavesAdmitted }: LoggerKind, own: Level): Logger => ({
  ...{ own, least },
  ordinary: leavesAdmitted ? LEVEL[own] : Math.max(LEVEL.info, LEVEL[own]),
});

function comesOut(level: Level, { own, least, ordinary }: Logger, setting: Setting): boolean {
  const rank = LEVEL[level];
  if (setting === 'own') return rank >= LEVEL[own];
  if (setting === 'off') return rank >= ordinary;
  if (setting === 'on') return rank >= LEVEL[least];
  // What quietens lets nothing out that the logger itself holds back.
  return rank >= (LEVEL[setting] <= LEVEL.info ? LEVEL[setting] : Math.max(LEVEL[setting], LEVEL[own]));
}

interface State {
  /** Of user 42 of the tenant acme: any of them. @default own */
  readonly mine?: Setting | readonly Setting[];
  /** What guards answer for user 42. @default that of the lines */
  readonly guards?: Setting;
  /** Of user 43 of the tenant globex. @default own */
  readonly others?: Setting;
  /** What a reader has of debug calls, beside what comes out. */
  readonly also?: 'shown' | 'counted by a forecast' | 'recorded';
  /** What an operator does with the category. */
  begin(bench: AdoptionBench, category: string): { shown?(): number; end?(): void };
}

const forAll = (setting: Setting, turn: (bench: AdoptionBench, category: string) => void): State => ({
  ...{ mine: setting, others: setting },
  begin: (bench, category) => {
    turn(bench, category);
    return { end: () => bench.reset(category) };
  },
});

const forTenant = (setting: 'on' | 'off' | Level): State => ({
  mine: setting,
  begin: (bench, category) => {
    bench.turnFor('acme', category, setting !== 'off', setting === 'on' || setting === 'off' ? undefined : setting);
    return { end: () => bench.turnFor('acme', category, undefined) };
  },
});

const STATES: Readonly<Record<string, State>> = {
  'not switched': { begin: () => ({}) },
  tailed: {
    also: 'shown',
    begin: (bench, category) => {
      const { calls, stop } = bench.tap(category);
      return { shown: () => calls.length, end: stop };
    },
  },
  forecast: {
    also: 'counted by a forecast',
    begin: (bench, category) => {
      const { calls, stop } = bench.measure(category);
      return { shown: calls, end: stop };
    },
  },
  // Whether the work fails is known later, so that its calls are not counted.
  'recorded, and the work failed': {
    also: 'recorded',
    begin: (bench, category) => ({ end: bench.record(category) }),
  },
  'on for one user': { mine: 'on', begin: (bench, category) => ({ end: bench.turnForUser('42', category) }) },
  // An activation takes nothing away, and guards do not know its level.
  'at info for one user': {
    ...{ mine: ['own', 'info'], guards: 'on' },
    begin: (bench, category) => ({ end: bench.turnForUser('42', category, 'info') }),
  },
  ...Object.fromEntries(
    (['on', 'off', 'trace', 'warn'] as const).map((each) => [`${each} for one tenant`, forTenant(each)]),
  ),
  on: forAll('on', (bench, category) => bench.turn(category, true)),
  off: forAll('off', (bench, category) => bench.turn(category, false)),
  ...Object.fromEntries(
    LEVELS.map((level) => [`at ${level}`, forAll(level, (bench, category) => bench.turn(category, true, level))]),
  ),
};

/** Levels of lines, by their messages. */
const levelsOf = (lines: readonly unknown[]) =>
  lines.flatMap((line) => /\/(\w+)\/of/.exec(inspect(line, { depth: 9 }))?.[1] ?? []);

describe('what is shown, counted and written of a category is what the application called, and guards know it', () => {
  for (const [name, kind] of Object.entries(KINDS)) {
    const { hasSharedGuard = false } = kind;
    for (const own of kind.own) {
      it(`${name}, of level ${own}`, async (t) => {
        const { bench, category, methods, written, isEnabled } = await kind.adopt(t, { level: own });
        const has = LEVELS.filter((level) => level in methods());
        const logger = loggerOf(kind, own);
        const isDebug = (level: Level) => LEVEL[level] < logger.ordinary;
        assert.equal(bench.byDefault(category), !kind.leavesAdmitted && LEVEL[own] < LEVEL.info);
        // A line of error fails the work, which is that of user 42 alone.
        const lines = { 42: has, 43: has.filter((level) => level !== 'error') };
        const inWork = <T>(user: 42 | 43, work: () => T) =>
          bench.gate.runWithTenant(user === 42 ? 'acme' : 'globex', () =>
            bench.gate.work.runNamed('job', () => {
              bench.gate.work.set({ 'user.id': String(user) });
              return work();
            }),
          );
        const call = (user: 42 | 43) => {
          inWork(user, () => {
            for (const level of lines[user]) methods()[level]?.(`/${level}/of/${user}`);
            if (user === 42) bench.gate.work.fail(undefined);
          });
          return levelsOf([...written(), ...bench.records.splice(0)]).sort();
        };
        const guardsOf = (user: 42 | 43) => inWork(user, () => has.filter((level) => isEnabled?.(level) === true));
        const visible = has.filter((level) => isDebug(level) && LEVEL[level] >= LEVEL[logger.least]);
        const out = (settings: Setting | readonly Setting[], levels: readonly Level[] = has) =>
          levels.filter((level) => [settings].flat().some((setting) => comesOut(level, logger, setting)));

        for (const [state, { mine = 'own', guards = mine, others = 'own', also, begin }] of Object.entries(STATES)) {
          const before = bench.counted(category);
          const { shown = () => 0, end } = begin(bench, category);
          const isForAll = guards === others && !LEVELS.some((level) => level === guards);
          if (isEnabled && also !== 'counted by a forecast' && (isForAll || !hasSharedGuard)) {
            const open = also === undefined ? [] : visible;
            assert.deepEqual(
              [guardsOf(42), guardsOf(43)],
              [guards, others].map((setting) => has.filter((each) => [...out(setting), ...open].includes(each))),
              `guards while ${state}`,
            );
          }
          const mineWritten = call(42);
          const counted = bench.counted(category) - before;
          const seen = shown();
          const othersWritten = call(43);
          end?.();
          const expected = also === 'recorded' ? [...new Set([...out(mine), ...visible])] : out(mine);
          assert.deepEqual(
            { written: mineWritten, counted, seen, others: othersWritten },
            {
              written: expected.sort(),
              counted: out(mine).filter(isDebug).length,
              seen: also === undefined || also === 'recorded' ? 0 : visible.length,
              others: out(others, lines[43]).sort(),
            },
            state,
          );
          assert.deepEqual(call(42), out('own').sort(), `${state} has ended`);
        }
        const elsewhere = bench.names().filter((each) => each !== category);
        assert.deepEqual(elsewhere.map(bench.counted).filter(Boolean), [], 'a line is of one category');
        assert.deepEqual([bench.warnings, bench.errors], [[], []]);
      });
    }

    const own = kind.own.at(-1)!;
    const { ordinary, least } = loggerOf(kind, own);
    /** Levels whose lines are debug calls that the logger itself holds back. */
    const held = ({ methods }: Adopted) =>
      LEVELS.filter((level) => level in methods() && LEVEL[level] < ordinary && LEVEL[level] >= LEVEL[least]);

    it(`${name}: lines over the budget of a category that was switched on are dropped and counted, and no others`, async (t) => {
      const flood = 10;
      const flooding = async (level: Level) => {
        const adopted = await kind.adopt(t, { level, callsPerSecond: 3 });
        const { bench, methods, written } = adopted;
        return {
          ...adopted,
          /** Returns how many lines come out. */
          say: (levels: readonly Level[]) => {
            for (const each of levels) for (let call = 0; call < flood; call++) methods()[each]?.('/flood');
            return written().length + bench.records.splice(0).length;
          },
        };
      };
      const adopted = await flooding(own);
      const { bench, category, say } = adopted;
      const before = bench.counted(category);
      bench.turn(category, true);
      const calls = held(adopted).length * flood;
      assert.equal(say(held(adopted)), calls - bench.dropped(category));
      assert.equal(bench.counted(category) - before, calls);
      assert.ok(bench.dropped(category) > 0);
      const admitted = LEVELS.filter((level) => level in adopted.methods() && LEVEL[level] >= ordinary);
      assert.equal(say(admitted), admitted.length * flood, 'what the logger itself admits');
      bench.turn(category, false);
      if (!kind.own.includes('debug')) return;
      const byItself = await flooding('debug');
      assert.equal(byItself.say(['debug']), flood, 'what the logger has on by itself');
    });

    it(`${name}: recorded, each line is kept once, and none is written`, async (t) => {
      const adopted = await kind.adopt(t, { level: own });
      const { bench, methods, written } = adopted;
      const say = (where: string) => {
        for (const level of held(adopted)) methods()[level]?.(`/${level}/of/${where}`);
      };
      bench.recordAll(true);
      bench.gate.work.runNamed('job', () => say('work'));
      say('nothing');
      assert.deepEqual([...written(), ...bench.records], []);
      const kept = (await bench.past()).map(({ message, attributes }) => [message, attributes]);
      assert.deepEqual(levelsOf(kept), held(adopted));
      assert.deepEqual(bench.errors, []);
      bench.recordAll(false);
    });
  }
});

describe('with recorder.guards false a category that is only recorded opens no guard of a logger', () => {
  for (const [name, { adopt, recordsAlone = true }] of Object.entries<LoggerKind>(LOGGERS)) {
    it(name, async (t) => {
      const { bench, category, methods, isEnabled } = await adopt(t, { level: 'info', recorder: { guards: false } });
      if (isEnabled === undefined) return;
      const inWork = () =>
        bench.gate.work.runNamed('job', () => {
          methods().debug?.('line');
          return isEnabled('debug');
        });
      assert.equal(inWork(), false, 'off');
      bench.recordAll(true);
      assert.equal(inWork(), false, 'recorded');
      assert.equal((await bench.past()).length, recordsAlone ? 1 : 0);
      const { stop } = bench.tap(category);
      assert.equal(inWork(), true, 'tailed as well');
      stop();
      assert.equal(inWork(), false, 'recorded again');
      bench.turn(category, true);
      assert.equal(inWork(), true, 'on');
      bench.turn(category, false);
      bench.recordAll(false);
      assert.equal(inWork(), false, 'off again');
    });
  }
});
