import { createRequire } from 'node:module';
import type { TestContext } from 'node:test';
import type { Loaded } from '../../src/adopt/hook.ts';
import { Adopter } from '../../src/adopt/process.ts';
import type { Source } from '../../src/adopt/types.ts';
import { systemClock } from '../../src/clock.ts';
import type { DebugRecord } from '../../src/emit/record.ts';
import { createSink } from '../../src/emit/sink.ts';
import { GateCore } from '../../src/gate/core.ts';
import type { CategoryDescriptor } from '../../src/gate/types.ts';
import type { AdoptOptions } from '../../src/options/adopt.ts';
import { createTelemetry } from '../../src/telemetry.ts';

const require = createRequire(import.meta.url);

/** Loads a copy of a package that no other test has. */
export function loadFresh(load: () => unknown): unknown {
  for (const file of Object.keys(require.cache)) delete require.cache[file];
  return load();
}

/** A process with one source, a gate whose categories can be switched, and the records that come out. */
export function adoptionBench(t: TestContext, source: Source, options: AdoptOptions = { [source.option]: true }) {
  const records: DebugRecord[] = [];
  const warnings: string[] = [];
  const sink = createSink({
    telemetry: createTelemetry(),
    clock: systemClock,
    to: (record) => records.push(record),
  });
  const gate = new GateCore();
  const setDefault = ({ index, defaultEnabled }: CategoryDescriptor) => attachment.setBase(index, defaultEnabled);
  const attachment = gate.attach({
    sink,
    maxCategories: 4096,
    registered: setDefault,
    failed: (_category, error) => {
      throw error;
    },
  });
  let handOver: ((loaded: Loaded) => void) | undefined;
  const adopter = new Adopter({
    gate,
    sources: [source],
    watch: (_modules, loaded) => {
      handOver = loaded;
      return () => {};
    },
  });
  const leave = adopter.join({ options, warn: (message) => warnings.push(message) });
  t.after(leave);
  const indexOf = (category: string) => gate.categories().find(({ name }) => name === category)?.index ?? -1;
  return {
    gate,
    attachment,
    adopter,
    sink,
    records,
    warnings,
    leave,
    names: () => gate.categories().map(({ name }) => name),
    byDefault: (category: string) => gate.categories()[indexOf(category)]?.defaultEnabled,
    turn: (category: string, on: boolean) => attachment.setBase(indexOf(category), on),
    turnFor: (tenant: string, category: string, on: boolean) => attachment.setTenant(tenant, indexOf(category), on),
    counted: (category: string) => gate.callsTotal(indexOf(category)),
    messages: () => records.splice(0).map(({ message }) => message),
    load: (exports: unknown, version: string, loadedBefore = false) => {
      const [module] = source.modules ?? [];
      if (module === undefined) throw new Error(`${source.kind} has no module`);
      handOver?.({ module, exports, copy: { name: module.name, version, url: 'file:///lib.js', loadedBefore } });
    },
  };
}

/** Own properties of an object, to compare before and after. */
export function propertiesOf(target: object): Record<PropertyKey, PropertyDescriptor> {
  return Object.getOwnPropertyDescriptors(target) as Record<PropertyKey, PropertyDescriptor>;
}
