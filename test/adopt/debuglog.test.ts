import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import util, { debug as importedDebug, debuglog as importedDebuglog } from 'node:util';
import { DEBUGLOG } from '../../src/adopt/debug/debuglog.ts';
import { asOwnWork, loadOwn, markOwnWork } from '../../src/otel/own-work.ts';
import { announced, start, WAIT } from '../register/running.ts';
import { adoptionBench } from './bench.ts';

const adopted = (t: TestContext) => adoptionBench(t, [DEBUGLOG]);

it('the section of a library that only our own endpoint uses is none, until the application uses it as well', async (t) => {
  markOwnWork();
  const { names, turn, records } = adopted(t);
  const koa = await loadOwn(async () => util.debuglog('koa:application'));
  asOwnWork(() => koa('a request to the endpoint'));
  assert.deepEqual(names(), []);
  koa('listen');
  assert.deepEqual(names(), ['KOA_APPLICATION']);
  assert.equal(koa.enabled, false);
  turn('KOA_APPLICATION', true);
  koa('on');
  assert.deepEqual([koa.enabled, records.length], [true, 1]);
});

it('a section becomes a category, whichever way the function was imported', (t) => {
  const { names, turn, records } = adopted(t);
  const logs = [util.debuglog('shop'), util.debug('shop-http'), importedDebuglog('cart'), importedDebug('SHOP')];
  assert.deepEqual(names(), ['SHOP', 'SHOP_HTTP', 'CART']);
  for (const log of logs) log('off %d', 1);
  turn('SHOP', true);
  assert.deepEqual(
    logs.map(({ enabled }) => enabled),
    [true, false, false, true],
  );
  for (const log of logs) log('on %d', 1, { order: 42 });
  const attributes = { 'debuglog.section': 'SHOP', 'debuglog.arguments': [1, { order: 42 }] };
  assert.equal(records.length, 2);
  assert.partialDeepStrictEqual(
    records,
    Array(2).fill({ category: 'SHOP', message: 'on 1 { order: 42 }', attributes }),
  );
  turn('SHOP', false);
  for (const log of logs) log('off');
  assert.equal(records.length, 2);
});

it('the function that the application is given on the first call follows the category as well', (t) => {
  const { turn, records } = adopted(t);
  const given: util.DebugLoggerFunction[] = [];
  let log: util.DebugLoggerFunction = util.debuglog('replaced', (replacement) => {
    given.push(replacement);
    log = replacement;
  });
  log('first');
  log('second');
  assert.equal(given.length, 1);
  assert.equal(log, given[0]);
  turn('REPLACED', true);
  log('third');
  assert.equal((log as util.DebugLogger).enabled, true);
  assert.deepEqual(
    records.map(({ message }) => message),
    ['third'],
  );
});

it('is given back exactly as it was, and what the application has kept does what it did', (t) => {
  const before = Object.getOwnPropertyDescriptors(util);
  const native = util.debuglog('kept');
  const { leave, turn, records } = adopted(t);
  assert.notEqual(util.debuglog, before.debuglog.value);
  const log = util.debuglog('kept');
  const shape = (each: object) =>
    Object.entries(Object.getOwnPropertyDescriptors(each)).map(([name, { value, get, ...rest }]) => [
      name,
      value ?? typeof get,
      rest,
    ]);
  assert.deepEqual(shape(log), shape(native));
  turn('KEPT', true);
  leave();
  assert.deepEqual(Object.getOwnPropertyDescriptors(util), before);
  assert.equal(importedDebuglog, before.debuglog.value);
  log('after');
  assert.deepEqual([log.enabled, records], [false, []]);
});

it('what is no name of a section is left to Node.js', (t) => {
  const { names } = adopted(t);
  const log = util.debuglog(undefined as never);
  assert.throws(() => log('x'), TypeError);
  assert.deepEqual(names(), []);
});

it('a section of NODE_DEBUG is on by default, and Node.js prints its lines', async (t) => {
  const run = await start(t, {
    env: { NODE_DEBUG: 'shop', RDCP_SERVER_API_KEY: 'k'.repeat(40) },
    app: `
      import { debuglog } from 'node:util';
      const [shop, cart] = [debuglog('shop'), debuglog('cart')];
      shop('two %d', 2);
      cart('nothing');
      console.log(shop.enabled, cart.enabled);
      ${WAIT}`,
  });
  const { url } = await announced(run);
  await run.until(() => run.output.stdout !== '');
  assert.equal(run.output.stdout, 'true false\n');
  assert.match(run.output.stderr, new RegExp(`^SHOP ${run.child.pid}: two 2$`, 'm'));
  assert.doesNotMatch(run.output.stderr, /nothing/);
  const headers = { 'X-RDCP-API-Key': 'k'.repeat(40) };
  const discovery = await (await fetch(`${url}/rdcp/v1/discovery`, { headers })).text();
  assert.match(discovery, /"name":"SHOP".*?"kind":"debuglog"/);
});
