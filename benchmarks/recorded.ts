// What recording takes while work succeeds: a call that is kept for the time of its work and then forgotten; twenty of them in
// each request of a light Koa service; the same while every finished request is kept; and following requests that make no call.
// The processor of the SDK does nothing, as in emit.ts.

import { logs } from '@opentelemetry/api';
import { LoggerProvider } from '@opentelemetry/sdk-logs';
import { beside, contest, request, start } from './load/contest.ts';
import { built, internals, publish, ratio, time, verdict } from './measurement.ts';
import { API_KEY } from './services/identities.ts';

const { createRdcpClient }: typeof import('../src/client.ts') = await import(built('client.js'));
const { sinkOf, createTelemetry, GateCore, RECORDER, systemClock, WorkFollower } = await internals();

const CALLS = 20;
const BARE = 'bare logger.emit';
const RECORDED = `a recorded call, ${CALLS} in a piece of work that succeeds`;
const ORDERS = `a light Koa service with ${CALLS} debug points in each request`;
const FORGOTTEN = 'the same while they are recorded';
const KEPT = 'the same while every finished request is kept';
const PRICES = 'the same service without debug points';
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

/** The service, and how to have its calls recorded for a slice. */
async function recordedService(keepSeconds: number) {
  const service = await start('recorded', String(keepSeconds));
  const baseUrl = await (await fetch(`http://127.0.0.1:${service.port}/remote-control`)).text();
  const client = createRdcpClient({ baseUrl, apiKey: API_KEY });
  const record = async () => {
    await client.enable('PRICING', { duration: '1h', otelrdcp_record: true });
    return async () => void (await client.reset('PRICING'));
  };
  return { service, record };
}

const forgetting = await recordedService(0);
// Recording is left on in a service of its own: memory that is taken again with each slice would be most of what is measured.
const [plain, keeping] = [await recordedService(60), await recordedService(60)];
await keeping.record();
const [orders, prices] = [[request('/order')], [request('/prices')]];
const outcomes = await contest(
  [
    { name: PRICES, service: forgetting.service, requests: prices },
    { name: FOLLOWED, service: forgetting.service, requests: prices, within: forgetting.record },
    { name: ORDERS, service: forgetting.service, requests: orders },
    { name: FORGOTTEN, service: forgetting.service, requests: orders, within: forgetting.record },
    { name: `${ORDERS}, which keeps`, service: plain.service, requests: orders },
    { name: KEPT, service: keeping.service, requests: orders },
  ],
  { rounds: 21, sliceMs: 150 },
);
for (const { service } of [forgetting, plain, keeping]) service.stop();

const call = ratio(timings, RECORDED, BARE);
const besides = (name: string, plain: string) => beside(outcomes.get(name)!, outcomes.get(plain)!, 'processor');
const followed = besides(FOLLOWED, PRICES);
const forgotten = besides(FORGOTTEN, ORDERS);
const kept = besides(KEPT, `${ORDERS}, which keeps`);
publish({
  timings: [...timings, ...[...outcomes.values()].flatMap(({ wall, cpu }) => [wall, cpu])],
  verdicts: [
    verdict(RECORDED, '<= 0.2 of a bare logger.emit', call.toFixed(2), call <= 0.2, call),
    verdict(FOLLOWED, '>= 0.96 of the service without', followed.text, followed.ratio >= 0.96, followed.ratio),
    verdict(FORGOTTEN, '>= 0.87 of the service without', forgotten.text, forgotten.ratio >= 0.87, forgotten.ratio),
    verdict(KEPT, '>= 0.68 of the service without', kept.text, kept.ratio >= 0.68, kept.ratio),
  ],
});
