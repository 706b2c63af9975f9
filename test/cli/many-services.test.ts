import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import type { StatusResponse } from '../../src/wire/messages.ts';
import { KEYS } from '../support/server.ts';
import { commandWith, startServices } from './many-services.ts';
import { madeUp } from './service.ts';

const NOWHERE = { url: 'http://127.0.0.1:1', apiKey: KEYS.admin };

test('answers of several services are one table, with the name of each service', async (t) => {
  const { profiles } = await startServices(t, ['shop', 'cart']);
  const { run } = commandWith(t, profiles);
  const { code, stdout, stderr } = await run(['list', 'DATABASE', '-s', 'shop,cart']);
  assert.equal(code, 0, stderr);
  const rows = stdout.trimEnd().split('\n');
  assert.match(rows[0] ?? '', /^SERVICE +CATEGORY +STATE +FOR +CALLS +CALLS\/S +DESCRIPTION$/);
  assert.deepEqual(
    rows.slice(1).map((row) => row.split(/ +/).slice(0, 3)),
    [
      ['shop', 'DATABASE', 'off'],
      ['cart', 'DATABASE', 'off'],
    ],
  );
  assert.equal(stderr, '');
});

test('one name prints what --profile prints, before or after the command', async (t) => {
  const { profiles } = await startServices(t, ['shop', 'cart']);
  const { run } = commandWith(t, profiles);
  const expected = await run(['list', '--profile', 'shop']);
  assert.match(expected.stdout, /^CATEGORY/);
  assert.deepEqual(await run(['list', '-s', 'shop']), expected);
  for (const first of [['-s', 'shop'], ['-sshop'], ['--service=shop'], ['--service', 'shop']]) {
    assert.deepEqual(await run([...first, 'list']), expected, first.join(' '));
  }
});

test('a change has a receipt of each service, and what failed is named with exit code 3', async (t) => {
  const { servers, profiles } = await startServices(t, ['shop', 'cart']);
  const { run } = commandWith(t, { ...profiles, pay: NOWHERE });
  const args = ['enable', 'DATABASE', '--for', '5m', '-s', 'shop,pay,cart'];
  const { code, stdout, stderr } = await run(args);
  assert.equal(code, 3);
  assert.match(stdout, /^shop: DATABASE on for 5m, until /m);
  assert.match(stdout, /^cart: DATABASE on for 5m, until /m);
  assert.match(stderr, /^rdcp: pay: RDCP_UNAVAILABLE: .* cannot be reached/);
  assert.match(stderr, /^rdcp: not done for 1 of 3 services: pay$/m);
  for (const server of Object.values(servers)) {
    const { body } = await server.request<StatusResponse>('/rdcp/v1/status', { key: 'admin' });
    assert.equal(body.categories.DATABASE, true);
  }
});

test('refusals of all have their own exit code', async (t) => {
  const { profiles } = await startServices(t, ['shop']);
  const { run } = commandWith(t, {
    shop: { ...profiles.shop, apiKey: KEYS.status },
    pay: NOWHERE,
    cart: { ...NOWHERE, url: 'http://127.0.0.2:1' },
  });
  assert.equal((await run(['list', '-s', 'pay,cart'])).code, 4);
  const both = await run(['list', '-s', 'pay,shop']);
  assert.equal(both.code, 1);
  assert.equal(both.stdout, '');
});

test('-o json has an entry of each service, with its answer or its error', async (t) => {
  const { profiles } = await startServices(t, ['shop']);
  const { run } = commandWith(t, { ...profiles, pay: NOWHERE });
  const { code, stdout } = await run(['status', '--all-services', '-o', 'json']);
  assert.equal(code, 3);
  const { services } = JSON.parse(stdout);
  assert.deepEqual(
    services.map(({ service, exitCode }: { service: string; exitCode: number }) => [service, exitCode]),
    [
      ['shop', 0],
      ['pay', 4],
    ],
  );
  assert.equal(services[0].answer.categories.DATABASE, false);
  assert.match(services[1].error, /^RDCP_UNAVAILABLE/);
});

test('entries of a store that services share are shown once', async (t) => {
  const { profiles } = await startServices(t, ['shop', 'cart'], { store: createMemoryStore() });
  const { run } = commandWith(t, profiles);
  await run(['enable', 'HTTP', '-s', 'shop']);
  const { stdout } = await run(['audit', '-s', 'shop,cart', '--action', 'enable']);
  assert.match(stdout, /^SERVICE.*\nshop, cart .*\n$/);
});

test('entries of the trails are in the order of their times', async (t) => {
  const { profiles } = await startServices(t, ['shop', 'cart']);
  const { run } = commandWith(t, profiles);
  for (const name of ['shop', 'cart', 'shop']) await run(['enable', 'HTTP', '-s', name, '--reason', name]);
  const { stdout, stderr, code } = await run(['audit', '-s', 'shop,cart', '--action', 'enable']);
  assert.equal(code, 0, stderr);
  const rows = stdout.trimEnd().split('\n').slice(1);
  assert.deepEqual(
    rows.map((row) => [row.split(/ +/)[0], row.split(/ +/).at(-1)]),
    [
      ['shop', 'shop'],
      ['cart', 'cart'],
      ['shop', 'shop'],
    ],
  );
  const twice = await run(['audit', '-s', 'shop,cart', '--cursor', 'x']);
  assert.deepEqual([twice.code, twice.stderr], [2, 'rdcp: --cursor is of one service: name that one\n']);
});

test('services are asked at the same time, so that those that do not answer cost one timeout', async (t) => {
  const waiting: string[] = [];
  const open: (() => void)[] = [];
  const names = Array.from({ length: 10 }, (_, at) => `s${at}`);
  const urls = await Promise.all(
    names.map((name) =>
      madeUp(t, (request) => {
        waiting.push(name);
        open.push(() => request.socket.destroy());
        // None is answered before all are asked.
        if (waiting.length === names.length) for (const end of open) end();
      }),
    ),
  );
  const { run } = commandWith(
    t,
    Object.fromEntries(names.map((name, at) => [name, { ...NOWHERE, url: urls[at] ?? '' }])),
  );
  const { code, stderr } = await run(['list', '--all-services']);
  assert.equal(code, 4);
  assert.deepEqual(waiting.toSorted(), names);
  assert.match(stderr, /not done for 10 of 10 services/);
});

test('a pattern is asked about once for all services', async (t) => {
  const { servers, profiles } = await startServices(t, ['shop', 'cart']);
  const { run } = commandWith(t, { ...profiles, pay: NOWHERE });
  const args = ['enable', 'DATA*', '-s', 'shop,cart,pay'];
  const no = await run(args, { typed: 'n\n' });
  assert.equal(no.stderr.match(/\[y\/N\]/g)?.length, 1, no.stderr);
  assert.match(no.stderr, /shop, cart: enable this category for 15m\? \[y\/N\] /);
  assert.match(no.stderr, /shop: Nothing was changed\.$/m);
  assert.equal(no.code, 1);
  const yes = await run(args, { typed: 'y\n' });
  assert.equal(yes.code, 3, yes.stderr);
  for (const { gate } of Object.values(servers)) assert.equal(gate.category('DATABASE').enabled, true);
  const unattended = await run(args);
  assert.deepEqual([unattended.code, unattended.stdout], [2, '']);
  assert.match(unattended.stderr, /^rdcp: a pattern \(DATA\*\) needs --yes without a terminal\n$/);
});

test('forecast, disable, reset, end and fleet take several services', async (t) => {
  const { profiles } = await startServices(t, ['shop', 'cart']);
  const { run } = commandWith(t, profiles);
  const measured = await run(['forecast', 'DATABASE', '--for', '1s', '--all-services']);
  assert.equal(measured.code, 0, measured.stderr);
  assert.match(measured.stdout, /^cart: measured for 1s in 1 of 1 process$/m);
  for (const action of ['disable', 'reset', 'end']) {
    const { code, stdout, stderr } = await run([action, 'DATABASE', '--all-services']);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /shop.*\n?.*cart/s, action);
  }
  const { code, stderr } = await run(['fleet', '--all-services']);
  assert.equal(code, 1);
  assert.match(stderr, /^rdcp: shop: RDCP_NOT_FOUND: .*\nrdcp: cart: RDCP_NOT_FOUND: /);
});
