// What counting an emitted call costs, beside a counter of the OpenTelemetry SDK. The figure is of a whole debug call
// that is on, into a sink that does nothing: the check, the guard against recursion and the count. The count alone is
// less.

import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { type Candidate, internals, publish, ratio, time, verdict } from './measurement.ts';

const { GateCore } = await internals();

const gate = new GateCore();
const category = gate.category('CHECKOUT');
gate
  .attach({
    sink: { emit: () => undefined, span: (_category, _name, fn) => fn() },
    maxCategories: 4096,
    registered: () => undefined,
    failed: () => undefined,
  })
  .setBase(0, true);

const counter = new MeterProvider().getMeter('benchmark').createCounter('rdcp.debug.calls');
const attributes = { 'rdcp.category.name': 'CHECKOUT' };

const OURS = '.debug that is on, into an empty sink, counted';
const COUNTER = 'OpenTelemetry Counter.add(1, attributes)';

const candidates: Candidate[] = [
  { name: OURS, call: () => category.debug('m') },
  { name: COUNTER, call: () => counter.add(1, attributes) },
  { name: 'OpenTelemetry Counter.add(1)', call: () => counter.add(1) },
];

const timings = await time(candidates);
if (gate.callsTotal(0) === 0 || gate.droppedTotal(0) > 0) throw new Error('the calls were not emitted');
const times = ratio(timings, COUNTER, OURS);

publish({
  timings,
  verdicts: [
    verdict('counting an emitted call', '>= 8 times less than Counter.add', `1/${times.toFixed(1)}`, times >= 8, times),
  ],
});
