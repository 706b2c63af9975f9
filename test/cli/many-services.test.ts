import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { KEYS } from '../support/server.ts';
import { commandWith, NOWHERE, startServices } from './many-services.ts';
import { cellsOf } from './run.ts';
import { madeUp } from './service.ts';

test('answers of several services are one table, with the name of each service', async (t) => {
  const { profiles } = await startServices(t, ['shop', 'cart']);
  const { stdout } = await commandWith(t, profiles).says('list DATABASE -s shop,cart', undefined, { err: '' });
  assert.deepEqual(
    cellsOf(stdout).map((cells) => cells.slice(0, 3)),
    [
      ['SERVICE', 'CATEGORY', 'STATE'],
      ['shop', 'DATABASE', 'off'],
      ['cart', 'DATABASE', 'off'],
    ],
  );
});

test('one name prints what --profile prints, before or after the command', async (t) => {
  const { profiles } = await startServices(t, ['shop', 'cart']);
  const { run, says } = commandWith(t, profiles);
  const expected = await says('list --profile shop', /^CATEGORY/);
  assert.deepEqual(await run(['list', '-s', 'shop']), expected);
  for (const first of [['-s', 'shop'], ['-sshop'], ['--service=shop'], ['--service', 'shop']]) {
    assert.deepEqual(await run([...first, 'list']), expected, first.join(' '));
  }
});

test('a change has a receipt of each service, and what failed is named with exit code 3', async (t) => {
  const { servers, profiles } = await startServices(t, ['shop', 'cart']);
  const { says } = commandWith(t, { ...profiles, pay: NOWHERE });
  const receipts = /^shop: DATABASE on for 5m, until (?:.*\n)+cart: DATABASE on for 5m, until /;
  await says('enable DATABASE --for 5m -s shop,pay,cart', receipts, {
    code: 3,
    err: /^rdcp: pay: RDCP_UNAVAILABLE: .* cannot be reached(?:.*\n)+rdcp: not done for 1 of 3 services: pay\n/,
  });
  for (const { gate } of Object.values(servers)) assert.equal(gate.category('DATABASE').enabled, true);
});

test('refusals of all have their own exit code', async (t) => {
  const { profiles } = await startServices(t, ['shop']);
  const cart = { ...NOWHERE, url: 'http://127.0.0.2:1' };
  const { says } = commandWith(t, { shop: { ...profiles.shop, apiKey: KEYS.status }, pay: NOWHERE, cart });
  await says('list -s pay,cart', '', { code: 4 });
  await says('list -s pay,shop', '', { code: 1 });
});

test('-o json has an entry of each service, with its answer or its error', async (t) => {
  const { profiles } = await startServices(t, ['shop']);
  const { says } = commandWith(t, { ...profiles, pay: NOWHERE });
  const { stdout } = await says('status --all-services -o json', undefined, { code: 3 });
  const [shop, pay, ...others] = JSON.parse(stdout).services;
  assert.deepEqual([shop.service, shop.exitCode, shop.answer.categories.DATABASE], ['shop', 0, false]);
  assert.deepEqual([pay.service, pay.exitCode, others], ['pay', 4, []]);
  assert.match(pay.error, /^RDCP_UNAVAILABLE/);
});

test('entries of a store that services share are shown once', async (t) => {
  const { profiles } = await startServices(t, ['shop', 'cart'], { store: createMemoryStore() });
  const { says } = commandWith(t, profiles);
  await says('enable HTTP -s shop');
  await says('audit -s shop,cart --action enable', /^SERVICE.*\nshop, cart .*\n$/);
});

test('entries of the trails are in the order of their times', async (t) => {
  const { profiles } = await startServices(t, ['shop', 'cart']);
  const { says } = commandWith(t, profiles);
  for (const name of ['shop', 'cart', 'shop']) await says(`enable HTTP -s ${name} --reason ${name}`);
  await says('audit -s shop,cart --action enable', /^.*\nshop .* shop\ncart .* cart\nshop .* shop\n$/);
  const err = 'rdcp: --cursor is of one service: name that one\n';
  await says('audit -s shop,cart --cursor x', '', { code: 2, err });
});

test('services are asked at the same time, so that those that do not answer cost one timeout', async (t) => {
  const waiting: string[] = [];
  const open: (() => void)[] = [];
  const names = Array.from({ length: 10 }, (_, at) => `s${at}`);
  const profiles = names.map(async (name) => {
    const url = await madeUp(t, (request) => {
      waiting.push(name);
      open.push(() => request.socket.destroy());
      // None is answered before all are asked.
      if (waiting.length === names.length) for (const end of open) end();
    });
    return [name, { ...NOWHERE, url }] as const;
  });
  const { says } = commandWith(t, Object.fromEntries(await Promise.all(profiles)));
  await says('list --all-services', '', { code: 4, err: /not done for 10 of 10 services/ });
  assert.deepEqual(waiting.toSorted(), names);
});

test('a pattern is asked about once for all services', async (t) => {
  const { servers, profiles } = await startServices(t, ['shop', 'cart']);
  const { says } = commandWith(t, { ...profiles, pay: NOWHERE });
  const line = 'enable DATA* -s shop,cart,pay';
  const err = /shop, cart: enable this category for 15m\? \[y\/N\] (?:.*\n)*shop: Nothing was changed\.$/m;
  const no = await says(line, undefined, { typed: 'n\n', code: 1, err });
  assert.equal(no.stderr.match(/\[y\/N\]/g)?.length, 1, no.stderr);
  await says(line, undefined, { typed: 'y\n', code: 3 });
  for (const { gate } of Object.values(servers)) assert.equal(gate.category('DATABASE').enabled, true);
  await says(line, '', { code: 2, err: /^rdcp: a pattern \(DATA\*\) needs --yes without a terminal\n$/ });
});

test('forecast, disable, reset, end and fleet take several services', async (t) => {
  const { profiles } = await startServices(t, ['shop', 'cart']);
  const { says } = commandWith(t, profiles);
  await says('forecast DATABASE --for 1s --all-services', /^cart: measured for 1s in 1 of 1 process$/m);
  for (const action of ['disable', 'reset', 'end']) await says(`${action} DATABASE --all-services`, /shop.*\n?.*cart/s);
  const err = /^rdcp: shop: RDCP_NOT_FOUND: .*\nrdcp: cart: RDCP_NOT_FOUND: /;
  await says('fleet --all-services', undefined, { code: 1, err });
});
