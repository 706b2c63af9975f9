// A debug call that is on, through the gate and the sink to the SDK's logger, beside the bare emission of the same
// record. The processor of the SDK does nothing, so that what comes after the logger hides no difference.

import { logs } from '@opentelemetry/api';
import { LoggerProvider, type LogRecordProcessor } from '@opentelemetry/sdk-logs';
import { built, type Candidate, internals, publish, ratio, time, verdict } from './measurement.ts';

const { createRdcp }: typeof import('../src/index.ts') = await import(built('index.js'));

let emitted = 0;
const processor: LogRecordProcessor = {
  onEmit: () => {
    emitted += 1;
  },
  forceFlush: async () => {},
  shutdown: async () => {},
};
const provider = new LoggerProvider({ processors: [processor] });
logs.setGlobalLoggerProvider(provider);

const logger = provider.getLogger('benchmark');
// A benchmark makes a million calls in a turn of the event loop: the default budget would drop nearly all of them.
const rdcp = createRdcp({ server: false, security: { apiKeys: [] }, controls: { budget: false } });
const category = rdcp.category('CHECKOUT', { enabled: true });
const order = { id: 'o-4711', items: 3 };

const { sinkOf, createTelemetry, GateCore, systemClock } = await internals();
const plenty = { callsPerSecond: 1e12, burst: 1e15, bytesPerSecond: 1e15 };
const gate = new GateCore();
const budgeted = gate.category('CHECKOUT');
gate
  .attach({
    sink: sinkOf({
      telemetry: createTelemetry(),
      clock: systemClock,
      budget: { each: plenty, categories: {}, process: plenty },
    }),
    maxCategories: 1,
    registered: () => {},
    failed: () => {},
  })
  .setBase(0, true);

const BARE = 'bare logger.emit';
const OURS = '.debug that is on';
const BUDGETED = '.debug that is on, under a budget that it keeps';
const FUNCTION = '.debug that is on, attributes by a function';

const candidates: Candidate[] = [
  {
    name: BARE,
    call: () =>
      logger.emit({
        severityNumber: 5,
        severityText: 'DEBUG',
        body: 'order placed',
        attributes: { 'order.id': order.id, 'order.items': order.items, 'rdcp.category.name': 'CHECKOUT' },
      }),
  },
  {
    name: OURS,
    call: () => category.debug('order placed', { 'order.id': order.id, 'order.items': order.items }),
  },
  {
    name: BUDGETED,
    call: () => budgeted.debug('order placed', { 'order.id': order.id, 'order.items': order.items }),
  },
  {
    name: FUNCTION,
    call: () => category.debug('order placed', () => ({ 'order.id': order.id, 'order.items': order.items })),
  },
];

const timings = await time(candidates);
if (emitted === 0) throw new Error('the calls were not emitted');
await rdcp.close();

publish({
  timings,
  verdicts: [OURS, BUDGETED, FUNCTION].map((name) => {
    const measured = ratio(timings, name, BARE);
    const most = name === BUDGETED ? 1.25 : 1.15;
    return verdict(name, `<= ${most} of a bare logger.emit`, measured.toFixed(2), measured <= most, measured);
  }),
});
