import { budgetsOf } from '../../src/calls/emit/budgets.ts';
import { takesTenant } from '../../src/calls/emit/selection.ts';
import { createSink } from '../../src/calls/emit/sink.ts';
import type { Past, PastLine, PastWork } from '../../src/calls/recorder/types.ts';
import { Relay } from '../../src/calls/tail/relay.ts';
import type { LineBatch } from '../../src/calls/tail/types.ts';
import { WorkFollower } from '../../src/calls/work/match.ts';
import { GateCore } from '../../src/gate/core.ts';
import { parseConfig } from '../../src/options/config.ts';
import { createTelemetry } from '../../src/otel/telemetry.ts';
import type { MessageStore } from '../../src/store/message-store.ts';
import { timestamp } from '../../src/wire/time.ts';
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
    const sink = createSink({
      telemetry: createTelemetry(),
      clock: time.clock,
      writeLine: (line) => lines.push(line),
      to: 'stderr',
      budget: budgetsOf(parseConfig({ controls: { budget: { callsPerSecond: 100, burst: 200 } } }).controls.budget),
      selection: { clock: time.clock, instanceId: name, work, random },
    });
    for (const category of categories) gate.category(category);
    const attachment = gate.attach(new RecordingController(4096, sink));
    const address = `at-${name}`;
    const recorded = new RecordedInMemory();
    const relay = new Relay({
      whileChosen: (_choice, begin) => begin(),
      gate,
      addTap: sink.addTap,
      recorder: sink.recorder,
      past: recorded,
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
    return { relay, gate, recorded, attachment, address, lines, database: gate.category('DATABASE') };
  }

  return { time, cut, doubtful, sent, process };
}

export type Network = ReturnType<typeof network>;

/** What a recorder would give back, in a few turns of the event loop. */
export class RecordedInMemory implements Past {
  readonly kept: PastLine[] = [];
  readonly failed: PastWork[] = [];
  reach = { since: 0, works: 0, bytes: 0 };

  /** @param at in milliseconds since the epoch */
  add(at: number, message: string, more: Partial<PastLine> = {}): void {
    const order = this.kept.length;
    const line = {
      timestamp: timestamp(at),
      severity: 'DEBUG',
      category: 'DATABASE',
      message,
      attributes: {},
    } as const;
    this.kept.push({ ...line, ...more, order });
  }

  async lines(query: Parameters<Past['lines']>[0]) {
    const { categories, since, limit, filter, match } = query;
    const found = this.kept.filter(
      (line) =>
        categories.includes(line.category) &&
        Date.parse(line.timestamp) >= since &&
        takesTenant(query, line.tenant) &&
        Object.entries(match ?? {}).every(([name, value]) => line.attributes[name] === value) &&
        (filter?.text === undefined || line.message.startsWith(filter.text.replace('*', ''))),
    );
    await new Promise((resolve) => setImmediate(resolve));
    return { lines: found.slice(-limit), more: Math.max(0, found.length - limit) };
  }

  async works(query: Parameters<Past['works']>[0]) {
    const { since, limit } = query;
    const found = this.failed.filter((work) => work.at >= since && takesTenant(query, work.tenant)).reverse();
    return { works: found.slice(0, limit), more: found.length > limit };
  }
}

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
