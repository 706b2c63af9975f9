import { parseConfig } from '../../src/config.ts';
import { budgetsOf } from '../../src/emit/budgets.ts';
import { createSink } from '../../src/emit/sink.ts';
import { GateCore } from '../../src/gate/core.ts';
import type { MessageStore } from '../../src/store/message-store.ts';
import { Relay } from '../../src/tail/relay.ts';
import { createTelemetry } from '../../src/telemetry.ts';
import { RecordingController } from '../gate/controllers.ts';
import { virtualTime } from '../support/virtual-time.ts';

/** Processes in one, each with a gate of its own, whose messages can be cut. Time is moved by hand. */
export function network() {
  const time = virtualTime();
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

  function process(name: string, { tails = true, alone = false, categories = ['DATABASE'] } = {}) {
    const lines: string[] = [];
    const sink = createSink({
      telemetry: createTelemetry(),
      clock: time.clock,
      writeLine: (line) => lines.push(line),
      to: 'stderr',
      budget: budgetsOf(parseConfig({ controls: { budget: { callsPerSecond: 100, burst: 200 } } }).controls.budget),
    });
    const gate = new GateCore();
    for (const category of categories) gate.category(category);
    const attachment = gate.attach(new RecordingController(4096, sink));
    const address = `at-${name}`;
    const relay = new Relay({
      gate,
      addTap: sink.addTap,
      budgetOf: sink.budgets.configured,
      messages: alone ? undefined : messagesOf(address),
      tails,
      instanceId: name,
      clock: time.clock,
      schedule: time.schedule,
      random: () => 0.5,
      randomUUID: () => crypto.randomUUID(),
    });
    if (!alone) handles.set(address, { hear: (message, from) => relay.hear(message, from) });
    return { relay, gate, attachment, address, lines, database: gate.category('DATABASE') };
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
    lines(batch: { readonly lines: readonly string[]; readonly dropped: number }) {
      counts.dropped += batch.dropped;
      lines.push(...batch.lines.map((line) => JSON.parse(line)));
    },
    instance: ({ id, state }: { readonly id: string; readonly state: string }) => void instances.push(`${id} ${state}`),
  };
}
