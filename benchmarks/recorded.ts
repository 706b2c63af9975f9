// What recording takes while work succeeds: a call that is kept for the time of its work and then forgotten; twenty of them in
// each request of Koa services that are more or less light; the same while every finished request is kept, and beside pino, which
// writes these lines; and following requests that make no call. The processor of the SDK does nothing, as in emit.ts.

import { logs } from '@opentelemetry/api';
import { LoggerProvider } from '@opentelemetry/sdk-logs';
import { beside, contest, request, type Service, start } from './load/contest.ts';
import { internals, publish, ratio, time, type Verdict, verdict } from './measurement.ts';

const { sinkOf, createTelemetry, GateCore, RECORDER, systemClock, WorkFollower } = await internals();

const CALLS = 20;
const BARE = 'bare logger.emit';
const RECORDED = `a recorded call, ${CALLS} in a piece of work that succeeds`;
/** Rounds of work in a request, with which it takes about so many microseconds, and what is to be left while it is recorded and kept. */
const SERVICES = [
  { rounds: 0, name: 'a Koa service of 32 µs a request', recorded: 0.87, kept: 0.68 },
  { rounds: 12, name: 'one of 60 µs', recorded: 0.9, kept: 0.8 },
  { rounds: 130, name: 'one of 350 µs', recorded: 0.97, kept: 0.95 },
];
const PRICES = 'a Koa service without debug points';
const FOLLOWED = 'the same while its requests are followed';

const onEmit = () => {};
const processor = { onEmit, forceFlush: async () => {}, shutdown: async () => {} };
const provider = new LoggerProvider({ processors: [processor] });
logs.setGlobalLoggerProvider(provider);
const logger = provider.getLogger('benchmark');

const gate = new GateCore();
const checkout = gate.category('CHECKOUT');
const sink = sinkOf({
  telemetry: createTelemetry(),
  clock: systemClock,
  recorder: { ...RECORDER, keepSeconds: 0 },
  selection: { clock: systemClock, instanceId: 'benchmark', work: new WorkFollower(gate.work), random: Math.random },
});
gate.attach({ sink, maxCategories: 1, registered: () => undefined, failed: () => undefined });
const [category] = gate.categories();
sink.setRecorded(category!, true);
const order = { id: 'o-4711', items: 3 };

const timings = await time([
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
    name: RECORDED,
    calls: CALLS,
    call: () =>
      gate.work.runNamed('order', () => {
        for (let call = 0; call < CALLS; call++)
          checkout.debug('order placed', { 'order.id': order.id, 'order.items': order.items });
      }),
  },
]);
if ((sink.recorder.countsOf(0)?.forgotten ?? 0) === 0) throw new Error('the calls were not recorded');
sink.setRecorded(category!, false);

// Each in a process of its own, and left on: what V8 compiles anew when a category is switched is not what recording takes.
const [off, recorded, kept, pino] = await Promise.all(
  ['off', 'recorded', 'kept', 'pino'].map((what) => start('recorded', what)),
);
const services = { off, recorded, kept, pino } as Readonly<Record<string, Service>>;
const prices = [request('/prices')];
const outcomes = await contest(
  [
    { name: PRICES, service: off!, requests: prices },
    { name: FOLLOWED, service: recorded!, requests: prices },
    ...SERVICES.flatMap(({ rounds, name }) =>
      Object.entries(services).map(([what, service]) => ({
        name: `${name}: ${what}`,
        service,
        requests: [request(`/order/${rounds}`)],
      })),
    ),
  ],
  { rounds: 21, sliceMs: 150 },
);
const { milliseconds } = (await (await fetch(`http://127.0.0.1:${kept!.port}/collecting`)).json()) as {
  readonly milliseconds: number;
};
const collecting = (milliseconds * 1000) / (await kept!.cpu());
for (const service of Object.values(services)) service.stop();

/** A service that keeps its throughput beside another. */
function keeps(what: string, least: number, one: string, other: string, than = 'the service without'): Verdict {
  const { ratio, text } = beside(outcomes.get(one)!, outcomes.get(other)!, 'processor');
  return verdict(what, `>= ${least} of ${than}`, text, ratio >= least, ratio);
}

const call = ratio(timings, RECORDED, BARE);
publish({
  timings: [...timings, ...[...outcomes.values()].flatMap(({ wall, cpu }) => [wall, cpu])],
  verdicts: [
    verdict(RECORDED, '<= 0.2 of a bare logger.emit', call.toFixed(2), call <= 0.2, call),
    keeps(FOLLOWED, 0.96, FOLLOWED, PRICES),
    ...SERVICES.flatMap(({ name, recorded, kept }) => [
      keeps(`${name}, its ${CALLS} calls recorded`, recorded, `${name}: recorded`, `${name}: off`),
      keeps(`${name}, every request kept`, kept, `${name}: kept`, `${name}: off`),
    ]),
    ...SERVICES.map(({ name }) =>
      keeps(`${name}, every request kept`, 1, `${name}: kept`, `${name}: pino`, 'it with pino at debug to a file'),
    ),
    verdict(
      'garbage collection where every request is kept',
      '<= 0.1 of its processor time',
      collecting.toFixed(3),
      collecting <= 0.1,
      collecting,
    ),
  ],
});
