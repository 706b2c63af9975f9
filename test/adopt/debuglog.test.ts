import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import util, { debug as importedDebug, debuglog as importedDebuglog } from 'node:util';
import { DEBUGLOG } from '../../src/adopt/debug/debuglog.ts';
import { Adopter } from '../../src/adopt/process.ts';
import { GateCore } from '../../src/gate/core.ts';
import { asOwnWork, loadOwn, markOwnWork } from '../../src/otel/own-work.ts';
import { RecordingController } from '../gate/controllers.ts';
import { announced, start, until, WAIT } from '../register/running.ts';

/** A process that adopts `util.debuglog`. */
function adopted(t: TestContext) {
  const gate = new GateCore();
  const controller = new RecordingController();
  const attachment = gate.attach(controller);
  const adopter = new Adopter({ gate, sources: [DEBUGLOG], watch: () => () => {} });
  const leave = adopter.join({ options: { debuglog: true }, warn: assert.fail });
  t.after(leave);
  const names = () => gate.categories().map(({ name }) => name);
  return {
    leave,
    names,
    emitted: controller.emitted,
    set: (name: string, on: boolean) => attachment.setBase(names().indexOf(name), on),
  };
}

it('the section of a library that only our own endpoint uses is none, until the application uses it as well', async (t) => {
  markOwnWork();
  const { names, set, emitted } = adopted(t);
  const koa = await loadOwn(async () => util.debuglog('koa:application'));
  asOwnWork(() => koa('a request to the endpoint'));
  assert.deepEqual(names(), []);
  koa('listen');
  assert.deepEqual(names(), ['KOA_APPLICATION']);
  assert.equal(koa.enabled, false);
  set('KOA_APPLICATION', true);
  koa('on');
  assert.deepEqual([koa.enabled, emitted.length], [true, 1]);
});

it('a section becomes a category, whichever way the function was imported', (t) => {
  const { names, set, emitted } = adopted(t);
  const logs = [util.debuglog('shop'), util.debug('shop-http'), importedDebuglog('cart'), importedDebug('SHOP')];
  assert.deepEqual(names(), ['SHOP', 'SHOP_HTTP', 'CART']);
  for (const log of logs) log('off %d', 1);
  set('SHOP', true);
  assert.deepEqual(
    logs.map(({ enabled }) => enabled),
    [true, false, false, true],
  );
  for (const log of logs) log('on %d', 1, { order: 42 });
  const attributes = { 'debuglog.section': 'SHOP', 'debuglog.arguments': [1, { order: 42 }] };
  assert.deepEqual(emitted, Array(2).fill({ category: 'SHOP', message: 'on 1 { order: 42 }', attributes }));
  set('SHOP', false);
  for (const log of logs) log('off');
  assert.equal(emitted.length, 2);
});

it('the function that the application is given on the first call follows the category as well', (t) => {
  const { set, emitted } = adopted(t);
  const given: util.DebugLoggerFunction[] = [];
  let log: util.DebugLoggerFunction = util.debuglog('replaced', (replacement) => {
    given.push(replacement);
    log = replacement;
  });
  log('first');
  log('second');
  assert.equal(given.length, 1);
  assert.equal(log, given[0]);
  set('REPLACED', true);
  log('third');
  assert.equal((log as util.DebugLogger).enabled, true);
  assert.deepEqual(
    emitted.map(({ message }) => message),
    ['third'],
  );
});

it('is given back exactly as it was, and what the application has kept does what it did', (t) => {
  const before = Object.getOwnPropertyDescriptors(util);
  const native = util.debuglog('kept');
  const { leave, set, emitted } = adopted(t);
  assert.notEqual(util.debuglog, before.debuglog.value);
  const log = util.debuglog('kept');
  const shape = (each: object) =>
    Object.entries(Object.getOwnPropertyDescriptors(each)).map(([name, { value, get, ...rest }]) => [
      name,
      value ?? typeof get,
      rest,
    ]);
  assert.deepEqual(shape(log), shape(native));
  set('KEPT', true);
  leave();
  assert.deepEqual(Object.getOwnPropertyDescriptors(util), before);
  assert.equal(importedDebuglog, before.debuglog.value);
  log('after');
  assert.deepEqual([log.enabled, emitted], [false, []]);
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
  await until(() => run.output.stdout !== '', run.child, run.output);
  assert.equal(run.output.stdout, 'true false\n');
  assert.match(run.output.stderr, new RegExp(`^SHOP ${run.child.pid}: two 2$`, 'm'));
  assert.doesNotMatch(run.output.stderr, /nothing/);
  const headers = { 'X-RDCP-API-Key': 'k'.repeat(40) };
  const discovery = await (await fetch(`${url}/rdcp/v1/discovery`, { headers })).text();
  assert.match(discovery, /"name":"SHOP".*?"kind":"debuglog"/);
});
