// Measures, so nothing runs beside it: what else the machine does would block the event loop too. Takes its time: the first
// seconds of a process do not count.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRdcp } from '../../src/assembly/rdcp.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { until } from '../support/until.ts';

function block(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

test('an event loop that is blocked again and again has the categories of its rule on until it runs free', async (t) => {
  const lines: string[] = [];
  const store = createMemoryStore();
  const rdcp = createRdcp({
    server: false,
    announce: false,
    store,
    emit: { to: ({ message }) => void lines.push(message) },
    alerts: [{ name: 'slow', when: { eventLoopDelay: '300ms' }, enable: ['ORDERS'], for: '5m' }],
  });
  t.after(() => rdcp.close());
  const orders = rdcp.category('ORDERS');
  const actions = async () => (await store.queryAudit({ limit: 10 })).entries.map(({ action }) => action);
  // As a service does while it starts.
  for (let times = 0; times < 4; times++) {
    block(500);
    await sleep(20);
  }
  await sleep(13_000);
  assert.deepEqual(await actions(), []);
  await until('debug lines of a blocked process', async () => {
    block(500);
    orders.debug('an order');
    return lines.length > 0;
  });
  await until('the end', async () => (await actions())[0] === 'reset');
  const [, began] = (await store.queryAudit({ limit: 10 })).entries;
  const delay = /^the event loop was delayed by (\d+) ms$/.exec(began?.reason ?? '')?.[1];
  assert.ok(Number(delay) >= 300 && Number(delay) < 5000, began?.reason);
});
