import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { TimeOrder } from '../../src/tools/cli/line-order.ts';
import fc from '../support/fast-check.ts';
import { until } from '../support/until.ts';
import { commandWith, NOWHERE, startServices } from './many-services.ts';
import { ending, jsonLines, linesOf } from './run.ts';
import { event, madeUp } from './service.ts';

/** A service that sends made-up lines once its tail is asked for. */
function tailed(t: TestContext, lines: readonly object[], fleet?: readonly object[]): Promise<string> {
  const answer = (response: ServerResponse, status: number, body: object) => {
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ protocol: 'rdcp/1.0', timestamp: '2026-01-01T00:00:00.000Z', ...body }));
  };
  return madeUp(t, ({ url = '' }, response) => {
    if (url.endsWith('/fleet')) {
      if (fleet !== undefined) answer(response, 200, { revision: 1, instances: fleet });
      else answer(response, 404, { error: { code: 'RDCP_NOT_FOUND', message: 'no fleet' } });
      return;
    }
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    const send = (name: string, data: object) => response.write(event(name, data));
    send('start', {
      revision: 1,
      instances: fleet?.length ?? 1,
      categories: ['DATABASE'],
      expiresAt: '2099-01-01T00:00:00.000Z',
    });
    for (const line of lines) send('line', { category: 'DATABASE', attributes: {}, ...line });
    send('end', { reason: 'expired', lines: lines.length, dropped: 0 });
    response.end();
  });
}

const at = (second: number) => `2026-01-01T00:00:0${second}.000Z`;

test('lines come in the order of their times, each with the name of its service', async (t) => {
  const { servers, profiles } = await startServices(t, ['shop', 'cart']);
  const { run } = commandWith(t, { ...profiles, pay: NOWHERE });
  let tailing = 0;
  const options = ending(/cart: 5 lines/, (text) => {
    tailing += text.includes('Tailing DATABASE') ? 1 : 0;
    if (tailing !== 2) return;
    tailing = 0;
    for (let n = 0; n < 5; n++) {
      servers.cart.gate.category('DATABASE').debug(`c${n}`);
      servers.shop.gate.category('DATABASE').debug(`s${n}`);
    }
  });
  const { code, stdout, stderr } = await run(
    ['tail', 'DATABASE', '-s', 'shop,pay,cart', '--for', '1m', '--lines', '5'],
    options,
  );
  assert.equal(code, 3, stderr);
  const lines = stdout.trimEnd().split('\n');
  const times = lines.map((line) => line.split(' ')[1] ?? '');
  assert.deepEqual(times, times.toSorted());
  for (const name of ['shop', 'cart']) {
    const own = lines.filter((line) => line.startsWith(`${name} `)).map((line) => line.split(' ')[3]);
    assert.deepEqual(
      own,
      [0, 1, 2, 3, 4].map((n) => `${name.charAt(0)}${n}`),
    );
  }
  assert.match(stderr, /^rdcp: pay: RDCP_UNAVAILABLE/m);
  assert.match(stderr, /^shop: 5 lines from 1 process, 0 dropped\.$/m);
  assert.match(stderr, /^rdcp: not done for 1 of 3 services: pay$/m);
});

test('a service cannot send lines under the name of another', async (t) => {
  const shop = await tailed(t, [{ timestamp: at(1), message: 'mine', instance: 'a' }]);
  const cart = await tailed(t, [
    { timestamp: at(2), message: 'x\nshop 00:00:02.000Z DATABASE of shop', instance: 'b', service: 'shop' },
  ]);
  const { says } = commandWith(t, { shop: { ...NOWHERE, url: shop }, cart: { ...NOWHERE, url: cart } });
  const both = /^shop 00:00:01\.000Z DATABASE mine\ncart 00:00:02\.000Z DATABASE x\\u000ashop .*\n$/;
  await says('tail DATABASE --all-services', both);
  const json = await says('tail DATABASE --all-services -o json');
  assert.deepEqual(
    jsonLines(json.stdout).map(({ service, instance }) => [service, instance]),
    [
      ['shop', 'a'],
      ['cart', 'b'],
    ],
  );
});

test('a tail that is ended while it asks who a new process is says nothing of that process', async (t) => {
  const stop = new AbortController();
  let asked = 0;
  const url = await madeUp(t, ({ url = '' }, response) => {
    if (url.endsWith('/fleet') && ++asked > 1) {
      stop.abort();
      return;
    }
    if (url.endsWith('/fleet')) {
      const instances = [{ id: 'known', host: 'vm', pid: 1, service: 'shop' }];
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ protocol: 'rdcp/1.0', timestamp: at(1), revision: 1, instances }));
      return;
    }
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    const send = (event: string, data: object) => response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    send('start', { revision: 1, instances: 1, categories: ['DATABASE'], expiresAt: '2099-01-01T00:00:00.000Z' });
    send('instance', { id: 'known', state: 'joined' });
    send('instance', { id: 'new', state: 'joined' });
  });
  const { run } = commandWith(t, { shop: { ...NOWHERE, url }, pay: NOWHERE });
  const { stderr } = await run(['tail', 'DATABASE', '-s', 'shop,pay'], { interrupted: stop.signal });
  assert.match(stderr, /^shop: Tailing DATABASE in 1 process/m);
  assert.doesNotMatch(stderr, /Process new/);
});

test('lines of processes that two services send, which share a store, are shown once', async (t) => {
  const fleet = ['shop', 'cart', 'other'].map((service, pid) => ({ id: `i${pid}`, host: 'vm', pid, service }));
  const lines = fleet.map(({ id }, second) => ({ timestamp: at(second), message: `of ${id}`, instance: id }));
  const urls = await Promise.all([tailed(t, lines, fleet), tailed(t, lines, fleet)]);
  const { says } = commandWith(t, { shop: { ...NOWHERE, url: urls[0] }, cart: { ...NOWHERE, url: urls[1] } });
  const err = /Shares its store with another service: each line is shown once\./;
  const { stdout } = await says('tail DATABASE --all-services -o json', undefined, { err });
  const shown = jsonLines(stdout);
  assert.deepEqual(
    shown.map(({ message }) => message),
    ['of i0', 'of i1', 'of i2'],
  );
  // By the fleet, where the name is one of those that were asked for.
  assert.deepEqual(
    shown.slice(0, 2).map(({ service }) => service),
    ['shop', 'cart'],
  );
});

test('lines held for a second are shown with those that were made before', () => {
  const shown: string[] = [];
  const order = new TimeOrder();
  const add = (name: string, second: number, now: number) =>
    order.add({ timestamp: at(second) }, () => shown.push(name), now);
  add('b3', 3, 0);
  add('a1', 1, 900);
  add('a4', 4, 950);
  order.flush(999);
  assert.deepEqual(shown, []);
  order.flush(1000);
  assert.deepEqual(shown, ['a1', 'b3']);
  order.flush(Number.POSITIVE_INFINITY);
  assert.deepEqual(shown, ['a1', 'b3', 'a4']);
});

test('lines that arrive within a second of each other are in order, and none is lost or shown twice', () => {
  const arrivals = fc.array(fc.record({ made: fc.integer({ min: 0, max: 999 }), late: fc.nat(1000) }));
  fc.assert(
    fc.property(arrivals, fc.array(fc.nat(3000), { maxLength: 5 }), (lines, flushes) => {
      const shown: number[] = [];
      const order = new TimeOrder();
      const events = [
        ...lines.map(({ made, late }, index) => ({
          now: made + late,
          run: () => order.add({ timestamp: new Date(made).toISOString() }, () => void shown.push(index), made + late),
        })),
        ...flushes.map((now) => ({ now, run: () => order.flush(now) })),
      ];
      for (const { run } of events.toSorted((a, b) => a.now - b.now)) run();
      order.flush(Number.POSITIVE_INFINITY);
      assert.deepEqual(
        shown.toSorted((a, b) => a - b),
        [...lines.keys()],
      );
      // A line may be late by what it was held for.
      if (lines.every(({ late }) => late === 0)) {
        const times = shown.map((index) => lines[index]?.made ?? 0);
        assert.deepEqual(
          times,
          times.toSorted((a, b) => a - b),
        );
      }
    }),
  );
});

test('a tail goes on with the services that services.json has by then', async (t) => {
  const { servers, profiles } = await startServices(t, ['shop', 'cart']);
  const urls = { shop: { url: servers.shop.url }, cart: { url: servers.cart.url } };
  const { run, write } = commandWith(t, {}, { listed: { shop: urls.shop } });
  let notes = '';
  let step = 0;
  const options = ending(/still there/, (text) => {
    notes += text;
    if (step === 0 && notes.includes('shop: Tailing')) {
      step = 1;
      write('services.json', '{ "services": ');
    } else if (step === 1 && notes.includes('the services stay as they were')) {
      step = 2;
      write('services.json', { services: urls });
    } else if (step === 2 && notes.includes('cart: Tailing')) {
      step = 3;
      servers.cart.gate.category('DATABASE').debug('of cart');
      write('services.json', { services: { cart: urls.cart } });
    } else if (step === 3 && notes.includes('shop: no longer listed')) {
      step = 4;
      void until('the tail of shop has ended', () => !servers.shop.gate.category('DATABASE').enabled).then(() => {
        servers.shop.gate.category('DATABASE').debug('gone');
        servers.cart.gate.category('DATABASE').debug('still there');
      });
    }
  });
  const { stdout, stderr, code } = await run(['tail', 'DATABASE', '--all-services', '--for', '5m'], {
    ...options,
    env: { RDCP_API_KEY: profiles.shop.apiKey ?? '' },
  });
  assert.equal(code, 0, stderr);
  assert.deepEqual(
    linesOf(stdout).map((line) => line.replace(/ \S+Z DATABASE/, '')),
    ['cart of cart', 'cart still there'],
  );
  assert.match(stderr, /services\.json is not JSON: .*; the services stay as they were\n/);
});

test('watch shows the changes of several services, and goes on without one that refuses', async (t) => {
  const { profiles } = await startServices(t, ['shop', 'cart']);
  const { run, says } = commandWith(t, { ...profiles, pay: NOWHERE });
  await says('enable DATABASE -s shop');
  const options = ending(/cart .*DATABASE on/, (text) => {
    if (text.startsWith('rdcp: pay')) void run(['enable', 'DATABASE', '--permanent', '-s', 'cart']);
  });
  const switched =
    /^(?:shop .* DATABASE on for .*\n)?cart \d\d:\d\d:\d\d(?:Z|[+-][\d:]+) DATABASE on by admin-client\n/m;
  await says('watch DATABASE --all-services', switched, { ...options, code: 3 });
  await says('watch -s shop,cart -o json', /^\{"service":"shop","name":"DATABASE"/m, ending(/"service":"shop"/));
});

test('a request has one ticket for several services, which are read together', async (t) => {
  const { profiles } = await startServices(t, ['shop', 'cart']);
  const { says } = commandWith(t, { ...profiles, pay: NOWHERE });
  const options = { ...ending(/(?:(?:cart|shop): Tailing.*\s+){2}/), code: 3, err: /^rdcp: pay: RDCP_UNAVAILABLE/m };
  await says('request DATABASE --tail --all-services', /^curl -H 'baggage: rdcp\.debug=\S+' URL\n$/, options);
  for (const [line, code, err] of [
    ['DATABASE', 2, /a request has one ticket: name one service, or add --tail/],
    ['DATABASE --tail --also pay', 2, /several services cannot be combined with --also/],
    ['NO_SUCH --tail', 1, /rdcp: cart: it has none of these categories: NO_SUCH/],
    ['NO_SUCH --tail', 1, /rdcp: there is no ticket: none of the services can be read\n$/],
  ] as const) {
    await says(`request ${line} -s shop,cart`, '', { code, err });
  }
});
