// In a process of its own: it switches categories of the process, and follows its requests.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { category } from '../../src/api.ts';
import { slackBody } from '../../src/trail/notify/event.ts';
import { type FailureReport, FailureReports } from '../../src/trail/notify/failures.ts';
import { makeKey } from '../auth/records.ts';
import { startService } from '../support/service.ts';
import { virtualTime } from '../support/virtual-time.ts';
import { serve } from '../work/following.ts';
import { openReceiver } from './receiver.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const FAILURE = { category: 'ORDERS', lines: 3, workId: 'a', outcome: 'POST /orders 500 after 1.2 s, TypeError' };

test('the first failure of a category is reported at once, and those after it once a minute', async () => {
  const time = virtualTime();
  const { clock, delay, pass } = time;
  const reports: FailureReport[] = [];
  const failures = new FailureReports({ clock, delay }, (report) => void reports.push(report));
  const newest = () => reports.at(-1);
  const counts = () => reports.splice(0).map(({ category, failures, lines }) => [category, failures, lines]);
  failures.add(FAILURE);
  assert.deepEqual(counts(), [['ORDERS', 1, 3]]);
  await pass(10_000);
  const began = clock.now();
  for (let work = 0; work < 100; work++) {
    failures.add({ ...FAILURE, workId: `${work}`, outcome: `POST /orders/${work} 500` });
    // By another activation of the same category.
    failures.add({ ...FAILURE, workId: `${work}`, outcome: `POST /orders/${work} 500`, lines: 1 });
  }
  failures.add({ ...FAILURE, category: 'STOCK' });
  assert.deepEqual(counts(), [['STOCK', 1, 3]]);
  await pass(49_999);
  assert.deepEqual(reports, []);
  await pass(1);
  assert.deepEqual([newest()?.outcome, newest()?.since], ['POST /orders/99 500', began]);
  assert.deepEqual(counts(), [['ORDERS', 100, 400]]);
  await pass(120_000);
  assert.deepEqual(reports, []);
  assert.equal(time.pending, 0);
  failures.add(FAILURE);
  assert.deepEqual(counts(), [['ORDERS', 1, 3]]);
});

test('a report has the address of the trace of its newest failure', () => {
  const { clock, delay } = virtualTime();
  const addresses: unknown[] = [];
  const traceUrl = 'https://traces.example.com/{traceId}?span={spanId}';
  const failures = new FailureReports({ clock, delay, traceUrl }, (report) => void addresses.push(report.traceUrl));
  failures.add({ ...FAILURE, traceId: TRACE, spanId: '00f067aa0ba902b7' });
  failures.add({ ...FAILURE, category: 'STOCK' });
  assert.deepEqual(addresses, [`https://traces.example.com/${TRACE}?span=00f067aa0ba902b7`, undefined]);
});

test('in a chat a report is one line, with the address of the trace where there is one', () => {
  const source = { service: 'shop', host: 'web-1', pid: 7 };
  const line = (changes: Partial<FailureReport>) => {
    const report = { ...FAILURE, failures: 2, since: 0, ...changes };
    return JSON.parse(slackBody({ event: 'failure.recorded', report }, { source, now: 0 })).text;
  };
  assert.equal(line({}), 'shop on web-1: 3 ORDERS lines of 2 failures, last POST /orders 500 after 1.2 s, TypeError');
  const traceUrl = `https://traces.example.com/${TRACE}`;
  assert.ok(
    line({ failures: 1, traceId: TRACE, traceUrl }).endsWith(`of 1 failure, last ${FAILURE.outcome} ${traceUrl}`),
  );
  assert.ok(line({ traceId: TRACE }).endsWith(` trace ${TRACE}`));
  assert.equal(line({ outcome: '<!channel>' }).includes('<'), false);
});

test('a service tells its receivers when lines of failed work were written, and not of slow work', async (t) => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  const admin = makeKey({ scopes: ['admin'] });
  const [receiver, other] = [await openReceiver(t), await openReceiver(t)];
  const { clientOf } = await startService(t, {
    security: { apiKeys: [admin.record] },
    notify: {
      webhook: [
        { url: receiver.url, secret, events: ['failure.recorded'] },
        { url: other.url, secret, events: ['change'] },
      ],
    },
  });
  const orders = category('ORDERS');
  await clientOf(admin.key).enable('ORDERS', {
    duration: '5m',
    otelrdcp_when: { failed: true, slowerThan: '1ms' },
  });
  const service = await serve(t, (request, response) => {
    orders.debug('asked for');
    orders.debug('refused');
    setTimeout(() => {
      response.statusCode = Number(request.url!.slice(1));
      response.end();
    }, 5);
  });
  for (const status of [200, 200, 500]) await (await fetch(`${service}/${status}`)).text();
  const [{ body, headers }] = (await receiver.arrived(1)) as [(typeof receiver.received)[number]];
  const { type, data } = new Webhook(secret).verify(body, headers as Record<string, string>) as {
    type: string;
    data: Record<string, unknown>;
  };
  assert.equal(type, 'rdcp.failure.recorded');
  const { outcome, workId, since, ...rest } = data;
  assert.deepEqual(rest, { category: 'ORDERS', failures: 1, lines: 2 });
  assert.match(String(outcome), /^GET \/500 500 after \d+ ms$/);
  assert.match(String(workId), /^[0-9a-f]{8}$/);
  assert.ok(Date.now() - Date.parse(String(since)) < 60_000);
  await other.arrived(1);
  assert.match(other.received[0]!.body, /"rdcp.change"/);
});
