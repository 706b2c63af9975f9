import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import type { TestContext } from 'node:test';
import type { Loaded } from '../../src/adopt/hook.ts';
import { Adopter } from '../../src/adopt/process.ts';
import type { Source } from '../../src/adopt/types.ts';
import type { Call } from '../../src/calls/emit/record.ts';
import type { RecorderLimits } from '../../src/calls/recorder/types.ts';
import { CallMeters } from '../../src/calls/tail/call-meters.ts';
import { WorkFollower } from '../../src/calls/work/match.ts';
import { GateCore } from '../../src/gate/core.ts';
import { LEVEL } from '../../src/gate/levels.ts';
import type { AdoptOptions } from '../../src/options/adopt.ts';
import type { DebugRecord } from '../../src/wire/debug-record.ts';
import { systemClock } from '../../src/wire/time/clock.ts';
import { RECORDER, sinkOf } from '../support/sink.ts';

const require = createRequire(import.meta.url);

/** Loads a copy of a package that no other test has. */
export function loadCopy<T>(name: string): { readonly exports: T; readonly version: string } {
  for (const file of Object.keys(require.cache)) delete require.cache[file];
  return { exports: require(name), version: require(`${name}/package.json`).version };
}

export type Level = keyof typeof LEVEL;

const rankOf = (level: Level | undefined) => level && LEVEL[level];

export interface BenchOptions {
  /** @default every source */
  readonly options?: AdoptOptions;
  /** The calls that a category may emit in a second. @default no budget */
  readonly callsPerSecond?: number;
  readonly recorder?: Partial<RecorderLimits>;
}

/** A process in which sources adopt the copies of libraries that are loaded, and whose categories can be switched. */
export function adoptionBench(
  t: TestContext,
  sources: readonly Source[],
  { options, callsPerSecond, recorder = {} }: BenchOptions = {},
) {
  const warnings: string[] = [];
  const errors: unknown[] = [];
  const records: DebugRecord[] = [];
  const gate = new GateCore();
  const selection = { clock: systemClock, instanceId: 'here', work: new WorkFollower(gate.work), random: Math.random };
  const sink = sinkOf({
    selection,
    clock: systemClock,
    to: (record) => records.push(record),
    recorder: { ...RECORDER, ...recorder },
    ...(callsPerSecond !== undefined && {
      budget: {
        each: { callsPerSecond, burst: callsPerSecond, bytesPerSecond: undefined },
        categories: {},
        process: false,
      },
    }),
  });
  const attachment = gate.attach({
    sink,
    maxCategories: 4096,
    registered: ({ index, defaultEnabled }) => attachment.setBase(index, defaultEnabled, false),
    failed: (_category, error) => errors.push(error),
  });
  let handOver: ((loaded: Loaded) => void) | undefined;
  const adopter = new Adopter({
    gate,
    sources,
    watch: (_modules, { loaded }) => {
      handOver = loaded;
      return () => {};
    },
  });
  const all = Object.fromEntries(sources.map(({ option }) => [option, true]));
  const { guards } = recorder;
  const join = () => adopter.join({ options: options ?? all, warn: (message) => warnings.push(message), guards });
  let leave = join();
  t.after(() => {
    leave();
    sink.close();
  });
  const category = (name: string) => {
    const found = gate.categories().find((each) => each.name === name);
    if (found === undefined) throw new Error(`no category ${name}: ${gate.categories().map((each) => each.name)}`);
    return found;
  };
  return {
    gate,
    sink,
    warnings,
    errors,
    /** What came out of our outputs, not of a logger's own. */
    records,
    messages: () => records.splice(0).map(({ message }) => message),
    adopter,
    leave: () => leave(),
    rejoin: () => {
      leave = join();
    },
    names: () => gate.categories().map(({ name }) => name),
    /** Whether any logger of the category writes debug lines by itself. */
    byDefault: (name: string) => adopter.sourceOf(name)?.onByItself !== undefined,
    turn: (name: string, on: boolean, level?: Level) =>
      attachment.setBase(category(name).index, on, true, rankOf(level)),
    /** Nobody switches the category any more. */
    reset: (name: string) => attachment.setBase(category(name).index, category(name).defaultEnabled, false),
    turnFor: (tenant: string, name: string, on: boolean | undefined, level?: Level) =>
      attachment.setTenant(tenant, category(name).index, on, rankOf(level)),
    /** Switches the category on for the work of one user. */
    turnForUser: (user: string, name: string, level?: Level) =>
      sink.activate(category(name), {
        match: { 'user.id': user },
        ...(level && { level: LEVEL[level] }),
        exhausted: () => {},
      }),
    /** Records the category, for work that fails. */
    record: (name: string) => sink.activate(category(name), { when: { failed: true }, exhausted: () => {} }),
    /** Records every category for who asks for the past, or no longer does. */
    recordAll: (on: boolean) => {
      for (const each of gate.categories()) sink.setRecorded(each, on);
    },
    /** What was recorded, of every category. */
    past: async () =>
      (
        await sink.recorder.past.lines({
          categories: gate.categories().map(({ name }) => name),
          since: 0,
          limit: 10_000,
        })
      ).lines,
    /** Measures the category, as a forecast does. */
    measure: (name: string) => {
      const { addTap, recorder } = sink;
      const now = () => systemClock.now();
      const meters = new CallMeters(
        { ...selection, gate, addTap, recorder, budgetOf: () => undefined, now },
        { categories: [name] },
      );
      const calls = () => {
        meters.tick(1000);
        return meters.result.categories[name]?.calls ?? 0;
      };
      return { calls, stop: () => meters.end() };
    },
    counted: (name: string) => gate.callsTotal(category(name).index),
    dropped: (name: string) => gate.droppedTotal(category(name).index),
    tap: (name: string) => {
      const calls: Call[] = [];
      const stop = sink.addTap(category(name), {
        matches: () => true,
        admits: () => true,
        take: (_category, call) => calls.push(call),
      });
      return { calls, stop };
    },
    load: (name: string, version: string, exports: unknown, loadedBefore = false) => {
      const module = sources.flatMap(({ modules = [] }) => modules).find((each) => each.name === name);
      if (module === undefined) throw new Error(`no source of ${name}`);
      const copy = { name, version, url: `file:///${name}.js`, loadedBefore };
      handOver?.({ module, exports, copy });
    },
  };
}

export type AdoptionBench = ReturnType<typeof adoptionBench>;

/** Asserts that the recorded lines of a category have the messages and fields that a tail has. @param say writes them */
export async function assertRecordedAsTapped(
  { gate, tap, recordAll, past }: Pick<AdoptionBench, 'gate' | 'tap' | 'recordAll' | 'past'>,
  category: string,
  say: () => void,
): Promise<void> {
  const work = () => gate.work.runNamed('job', say);
  const { calls, stop } = tap(category);
  work();
  stop();
  recordAll(true);
  work();
  const lines = (await past()).map(({ message, attributes: { 'rdcp.work.id': _id, ...rest } }) => [message, rest]);
  const shown = calls.map(({ message, attributes: { 'rdcp.category.name': _name, ...rest } }) => [message, rest]);
  // Fields with symbols stay in the process.
  assert.deepEqual(lines, JSON.parse(JSON.stringify(shown)));
  recordAll(false);
}

/** Own properties of objects, to compare before and after. */
export function propertiesOf(...targets: readonly object[]): (readonly [PropertyKey, PropertyDescriptor])[][] {
  return targets.map((target) => {
    const all = Object.getOwnPropertyDescriptors(target) as Record<PropertyKey, PropertyDescriptor>;
    return Reflect.ownKeys(all).map((key) => [key, all[key]!] as const);
  });
}
