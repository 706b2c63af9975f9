import { budgetsOf } from '../../src/calls/emit/budgets.ts';
import type { Call } from '../../src/calls/emit/record.ts';
import { GateCore } from '../../src/gate/core.ts';
import { parseConfig } from '../../src/options/config.ts';
import { RecordingController } from '../gate/controllers.ts';
import { sinkOf } from '../support/sink.ts';

interface TapOptions {
  readonly tenant?: string;
  readonly most?: number;
}

/** Two categories that are off, on real outputs with a budget of two calls a second; A may be tapped. */
export function tappedProcess() {
  const lines: string[] = [];
  const sink = sinkOf({
    writeLine: (line) => lines.push(line),
    to: 'stderr',
    budget: budgetsOf(parseConfig({ controls: { budget: { callsPerSecond: 2, burst: 2 } } }).controls.budget),
  });
  const gate = new GateCore();
  const [a, b] = ['A', 'B'].map((name) => gate.category(name));
  const controller = new RecordingController(4096, sink);
  const attachment = gate.attach(controller);
  const [descriptor] = gate.categories();
  function tap({ tenant, most = Number.POSITIVE_INFINITY }: TapOptions = {}) {
    const taken: Call[] = [];
    const remove = sink.addTap(descriptor!, {
      matches: (tenantId) => tenant === undefined || tenantId === tenant,
      admits: () => taken.length < most,
      take: (_category, call) => taken.push(call),
    });
    return { taken, remove };
  }
  const counts = () => [gate.callsTotal(0), gate.droppedTotal(0), lines.length];
  return { sink, gate, attachment, a: a!, b: b!, tap, counts, lines, controller, descriptor: descriptor! };
}
