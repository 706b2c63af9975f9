// What recording takes while work succeeds: a call that is kept for the time of its work and then forgotten, and twenty of them
// in each request of a Koa service. The processor of the SDK does nothing, as in emit.ts.

import { logs } from '@opentelemetry/api';
import { LoggerProvider } from '@opentelemetry/sdk-logs';
import { beside, contest, request, start } from './load/contest.ts';
import { built, internals, publish, ratio, time, verdict } from './measurement.ts';
import { API_KEY } from './services/identities.ts';

const { createRdcpClient }: typeof import('../src/client.ts') = await import(built('client.js'));
const { createSink, createTelemetry, GateCore, systemClock, WorkFollower } = await internals();

const CALLS = 20;
const BARE = 'bare logger.emit';
const RECORDED = `a recorded call, ${CALLS} in a piece of work that succeeds`;
const PLAIN = `a Koa service with ${CALLS} debug points in each request`;
const RECORDING = 'the same while they are recorded';

const onEmit = () => {};
const processor = { onEmit, forceFlush: async () => {}, shutdown: async () => {} };
const provider = new LoggerProvider({ processors: [processor] });
logs.setGlobalLoggerProvider(provider);
const logger = provider.getLogger('benchmark');

const gate = new GateCore();
const checkout = gate.category('CHECKOUT');
const sink = createSink({
  telemetry: createTelemetry(),
  clock: systemClock,
  selection: { clock: systemClock, instanceId: 'benchmark', work: new WorkFollower(gate.work), random: Math.random },
});
gate.attach({ sink, maxCategories: 1, registered: () => undefined, failed: () => undefined });
const [category] = gate.categories();
const end = sink.activate(category!, { when: { failed: true }, exhausted: () => undefined });
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
end();

const service = await start('recorded');
const baseUrl = await (await fetch(`http://127.0.0.1:${service.port}/remote-control`)).text();
const client = createRdcpClient({ baseUrl, apiKey: API_KEY });

async function record() {
  await client.enable('PRICING', { duration: '5m', otelrdcp_when: { failed: true } });
  return async () => void (await client.reset('PRICING'));
}

const requests = [request('/order')];
const outcomes = await contest(
  [
    { name: PLAIN, service, requests },
    { name: RECORDING, service, requests, within: record },
  ],
  { rounds: 41, sliceMs: 150 },
);
service.stop();

const call = ratio(timings, RECORDED, BARE);
const recording = beside(outcomes.get(RECORDING)!, outcomes.get(PLAIN)!, 'processor');
publish({
  timings: [...timings, ...[...outcomes.values()].flatMap(({ wall, cpu }) => [wall, cpu])],
  verdicts: [
    verdict(RECORDED, '<= 0.6 of a bare logger.emit', call.toFixed(2), call <= 0.6, call),
    verdict(RECORDING, '>= 0.93 of the service without', recording.text, recording.ratio >= 0.93, recording.ratio),
  ],
});
