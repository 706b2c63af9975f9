import { after } from 'node:test';
import { budgetsOf } from '../../src/calls/emit/budgets.ts';
import { Relay } from '../../src/calls/tail/relay.ts';
import type { LineBatch } from '../../src/calls/tail/types.ts';
import { WorkFollower } from '../../src/calls/work/match.ts';
import { GateCore } from '../../src/gate/core.ts';
import { parseConfig } from '../../src/options/config.ts';
import type { MessageStore } from '../../src/store/message-store.ts';
import { RecordingController } from '../gate/controllers.ts';
import { sinkOf } from '../support/sink.ts';
import { virtualTime } from '../support/virtual-time.ts';

/** Processes in one, each with a gate of its own, whose messages can be cut. Time is moved by hand. */
export function network() {
  const time = virtualTime();
  const ends: (() => void)[] = [];
  after(() => {
    for (const end of ends) end();
  });
  const handles = new Map<string, { hear: (message: string, from: string) => void }>();
  /** Processes that can neither send nor hear. */
  const cut = new Set<string>();
  /** Processes whose messages arrive although sending them fails, as when the answer of the store is late. */
  const doubtful = new Set<string>();
  /** Every message. */
  const sent: { readonly from: string; readonly to: string | undefined; readonly message: string }[] = [];

  function messagesOf(address: string): MessageStore {
    return {
      address,
      async send(message, to) {
        if (cut.has(address)) throw new Error('cut off');
        sent.push({ from: address, to, message });
        for (const [other, { hear }] of handles) {
          if (other !== address && (to === undefined || to === other) && !cut.has(other)) hear(message, address);
        }
        if (doubtful.has(address)) throw new Error('no answer');
      },
      onMessage: () => () => {},
    };
  }

  interface ProcessOptions {
    readonly tails?: boolean;
    readonly alone?: boolean;
    readonly categories?: readonly string[];
    /** Of a real store. @default messages of this network */
    readonly messages?: MessageStore | undefined;
  }

  function process(name: string, options: ProcessOptions = {}) {
    const { tails = true, alone = false, categories = ['DATABASE'] } = options;
    const lines: string[] = [];
    const gate = new GateCore();
    const work = new WorkFollower(gate.work);
    const random = () => 0.5;
    const sink = sinkOf({
      clock: time.clock,
      writeLine: (line) => lines.push(line),
      to: 'stderr',
      budget: budgetsOf(parseConfig({ controls: { budget: { callsPerSecond: 100, burst: 200 } } }).controls.budget),
      selection: { clock: time.clock, instanceId: name, work, random },
    });
    for (const category of categories) gate.category(category);
    const attachment = gate.attach(new RecordingController(4096, sink));
    const address = `at-${name}`;
    const relay = new Relay({
      whileChosen: (_choice, begin) => begin(),
      gate,
      addTap: sink.addTap,
      recorder: sink.recorder,
      past: sink.recorder.past,
      service: () => `service of ${name}`,
      work,
      budgetOf: sink.budgets.configured,
      messages: alone ? undefined : (options.messages ?? messagesOf(address)),
      tails,
      instanceId: name,
      clock: time.clock,
      schedule: time.schedule,
      random,
      randomUUID: () => crypto.randomUUID(),
    });
    if (!alone) handles.set(address, { hear: (message, from) => relay.hear(message, from) });
    /** Records all calls of its categories. */
    const record = () => {
      for (const category of gate.categories()) {
        sink.setRecorded(category, true);
        ends.push(() => sink.setRecorded(category, false));
      }
    };
    ends.push(() => relay.close());
    return { relay, gate, record, attachment, address, lines, database: gate.category('DATABASE') };
  }

  return { time, cut, doubtful, sent, process };
}

export type Network = ReturnType<typeof network>;

/** Keeps what a tail receives. */
export function receiver() {
  const lines: { readonly message: string; readonly instance: string; readonly tenant?: string }[] = [];
  const instances: string[] = [];
  const counts = { dropped: 0 };
  return {
    counts,
    received: lines,
    instances,
    lines(batch: LineBatch) {
      counts.dropped += batch.dropped;
      lines.push(...batch.lines.map(({ text }) => JSON.parse(text)));
    },
    instance: ({ id, state }: { readonly id: string; readonly state: string }) => void instances.push(`${id} ${state}`),
  };
}
