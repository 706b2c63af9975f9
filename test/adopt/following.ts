import type { TestContext } from 'node:test';
import { CHANNELS } from '../../src/adopt/channels/channels.ts';
import type { Loaded } from '../../src/adopt/hook.ts';
import { Adopter } from '../../src/adopt/process.ts';
import { GateCore } from '../../src/gate/core.ts';
import { markOwnWork } from '../../src/otel/own-work.ts';
import { RecordingController } from '../gate/controllers.ts';

export interface Line {
  readonly message: string;
  readonly [attribute: string]: unknown;
}

/** A process that adopts the channels, and a way to switch their categories. */
export function followChannels(t: Pick<TestContext, 'after'>) {
  markOwnWork();
  const gate = new GateCore();
  const controller = new RecordingController();
  const attachment = gate.attach(controller);
  let handOver: ((loaded: Loaded) => void) | undefined;
  const adopter = new Adopter({
    gate,
    sources: [CHANNELS],
    watch: (_modules, { loaded }) => {
      handOver = loaded;
      return () => {};
    },
  });
  const warnings: string[] = [];
  const leave = adopter.join({ options: { channels: true }, warn: (message) => warnings.push(message) });
  t.after(leave);
  const names = () => gate.categories().map(({ name }) => name);
  return {
    gate,
    warnings,
    leave,
    names,
    /** Tells that a copy of a library was loaded. */
    loaded: (name: string, version: string) => {
      const module = CHANNELS.modules?.find((each) => each.name === name);
      if (module === undefined) throw new Error(`${name} is no library with channels`);
      handOver?.({
        module,
        exports: {},
        copy: { name, version, url: `file:///${name}/${version}`, loadedBefore: false },
      });
    },
    set: (name: string, on: boolean, tenant?: string) => {
      const index = names().indexOf(name);
      if (tenant === undefined) attachment.setBase(index, on);
      else attachment.setTenant(tenant, index, on);
    },
    /** The lines of a category since it was asked last. */
    lines: (name: string): Line[] => {
      const mine = controller.emitted.filter(({ category }) => category === name);
      controller.emitted.splice(0, Infinity, ...controller.emitted.filter(({ category }) => category !== name));
      return mine.map(({ message, attributes }) => ({ message, ...(attributes as object) }));
    },
    calls: (name: string) => gate.callsTotal(names().indexOf(name)),
  };
}
