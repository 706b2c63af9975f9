// In a process of its own: it switches categories of the process, and follows its requests.

import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { category } from '../../src/api.ts';
import { createRdcp } from '../../src/assembly/rdcp.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import type { DebugRecord } from '../../src/wire/debug-record.ts';
import { assertBuilt } from '../support/built.ts';
import { until } from '../support/until.ts';
import { serve } from '../work/following.ts';

test('a service that begins to fail writes the lines of its failing requests, until it recovers', async (t) => {
  const lines: DebugRecord[] = [];
  const store = createMemoryStore();
  const rdcp = createRdcp({
    server: false,
    announce: false,
    store,
    emit: { to: (record) => void lines.push(record) },
    alerts: [{ name: 'failures', when: { errorRate: 0.3, over: '2s', failed: true }, enable: ['ORDERS'], for: '1m' }],
  });
  t.after(() => rdcp.close());
  const orders = category('ORDERS');
  let isBroken = false;
  const url = await serve(t, (request, response) => {
    const number = Number(request.url!.slice(1));
    orders.debug('asked for', { number });
    response.statusCode = isBroken && number % 2 === 0 ? 500 : 200;
    response.end();
  });
  let number = 0;
  const actions = async () => (await store.queryAudit({ limit: 10 })).entries.map(({ action }) => action);
  const load = (what: string, holds: () => unknown) =>
    until(what, async () => {
      for (let request = 0; request < 10; request++) await (await fetch(`${url}/${number++}`)).text();
      return Boolean(await holds());
    });

  await load('40 requests that succeed', () => number >= 40);
  assert.deepEqual([lines.length, await actions()], [0, []]);
  isBroken = true;
  await load('lines', () => lines.length >= 10);
  const wrong = lines.filter(({ attributes }) => Number(attributes.number) % 2 !== 0);
  assert.deepEqual(wrong, [], 'lines of requests that succeeded');
  assert.match(String(lines[0]?.attributes['rdcp.work.outcome']), /^GET \/\d+ 500 after \d+ ms$/);
  isBroken = false;
  await load('the end', async () => (await actions())[0] === 'reset');
  const [ended, began] = (await store.queryAudit({ limit: 10 })).entries;
  assert.match(began?.reason ?? '', /^\d+ % of \d+ pieces of work failed in 2s$/);
  assert.equal(ended?.reason, `resolved: ${began?.reason}`);
});

function start(t: TestContext, ...args: readonly string[]) {
  assertBuilt();
  const child = fork(join(import.meta.dirname, 'surviving-service.ts'), args, {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  t.after(() => child.kill('SIGKILL'));
  const messages: unknown[] = [];
  child.on('message', (message) => messages.push(message));
  return { child, messages };
}

for (const way of ['throws', 'rejects']) {
  test(`a process that survives what it ${way} writes debug lines after that, and not before`, async (t) => {
    const { child, messages } = start(t, 'survives');
    await until('it is ready', () => messages.length > 0);
    // Longer than measurements take.
    await sleep(1500);
    assert.deepEqual(messages, ['ready']);
    child.send(way);
    await until('debug lines', () => messages.includes('an order'));
    assert.equal(child.exitCode, null);
  });

  test(`a process that does not survive what it ${way} ends as without the rule`, async (t) => {
    const { child, messages } = start(t);
    await until('it is ready', () => messages.length > 0);
    child.send(way);
    assert.deepEqual(await once(child, 'exit'), [1, null]);
  });
}
