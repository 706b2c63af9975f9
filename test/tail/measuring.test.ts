import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Gathering, runForecast } from '../../src/calls/tail/forecasts.ts';
import type { When } from '../../src/wire/target.ts';
import { type Network, network } from './network.ts';

type Process = ReturnType<Network['process']>;

/** Runs a forecast while processes make calls, ten times a second. */
async function forecast(
  { time }: Network,
  { relay }: Process,
  calls: () => void,
  {
    seconds = 10,
    processes = 1,
    tenantId,
    when,
    signal = new AbortController().signal,
  }: {
    seconds?: number;
    processes?: number;
    tenantId?: string;
    when?: When;
    signal?: AbortSignal;
  } = {},
) {
  const options: Gathering = { milliseconds: seconds * 1000, processes, delay: time.delay, signal };
  const done = runForecast(relay, { categories: ['DATABASE'], tenantId, when }, options);
  done.catch(() => {});
  for (let tenth = 0; tenth < seconds * 10; tenth++) {
    calls();
    await time.pass(100);
  }
  await time.pass(1100);
  const { instances, categories } = await done;
  return { instances, load: categories.get('DATABASE')! };
}

test('a forecast is added up over the fleet, with the number of processes that answered', async () => {
  const net = network();
  const [a, b] = [net.process('a'), net.process('b')];
  const calls = () => {
    a.database.debug('query');
    for (let call = 0; call < 4; call++) b.database.debug('query');
  };
  const { instances, load } = await forecast(net, a, calls, { processes: 3 });
  assert.deepEqual(instances, { asked: 3, answered: 2 });
  assert.ok(Math.abs(load.callsPerSecond - 50) < 1, `${load.callsPerSecond}`);
  const line = '2026-01-01T00:00:00.000Z DEBUG DATABASE query\n'.length;
  assert.ok(Math.abs(load.bytesPerSecond / load.callsPerSecond - line) < 0.01);
  assert.equal(load.droppedPerSecond, 0);
  assert.deepEqual([a.lines, b.lines, a.gate.callsTotal(0), b.gate.callsTotal(0)], [[], [], 0, 0]);
  assert.deepEqual([a.database.enabled, b.database.enabled, net.time.pending], [false, false, 0]);
});

test('of failed work, its calls alone are counted, with what the budget for recorded lines would drop', async () => {
  const net = network();
  const a = net.process('a');
  let job = 0;
  const calls = (each: number) => () => {
    for (let index = 0; index < 4; index++) {
      a.gate.work.runNamed('job', () => {
        for (let call = 0; call < each; call++) a.database.debug('query');
        if (job++ % 4 === 0) a.gate.work.fail(undefined);
      });
    }
    a.database.debug('outside of work');
  };
  const when = { failed: true } as const;
  const { load } = await forecast(net, a, calls(3), { when });
  assert.ok(Math.abs(load.callsPerSecond - 30) < 1, `${load.callsPerSecond}`);
  assert.equal(load.droppedPerSecond, 0);
  assert.ok(load.bytesPerSecond / load.callsPerSecond > 'DEBUG DATABASE query "rdcp.work.outcome"'.length);
  const much = await forecast(net, a, calls(180), { when });
  assert.ok(Math.abs(much.load.droppedPerSecond - 800) < 20, `${much.load.droppedPerSecond} of 1,800 a second`);
  assert.deepEqual([a.lines, a.gate.callsTotal(0), a.database.enabled, net.time.pending], [[], 0, false, 0]);
});

test('one call in so many is built, and the size is that of all', async () => {
  const net = network();
  const a = net.process('a');
  let built = 0;
  const attributes = () => {
    built++;
    return { n: 'x'.repeat(10) };
  };
  const calls = () => {
    for (let call = 0; call < 1000; call++) a.database.debug('m', attributes);
  };
  const { load } = await forecast(net, a, calls);
  assert.ok(Math.abs(load.callsPerSecond - 10_000) < 100, `${load.callsPerSecond}`);
  assert.ok(built >= 500 && built <= 2000, `${built} of 100,000`);
  const line = '2026-01-01T00:00:00.000Z DEBUG DATABASE m {"n":"xxxxxxxxxx"}\n'.length;
  assert.ok(Math.abs(load.bytesPerSecond / load.callsPerSecond - line) < 0.01);
});

test('a forecast of many categories builds no more calls than one of few, and measures each', async () => {
  const net = network();
  const names = Array.from({ length: 400 }, (_, index) => `CATEGORY_${index}`);
  const { gate, relay } = net.process('a', { categories: names });
  const categories = names.map((name) => gate.category(name));
  let built = 0;
  const attributes = () => {
    built++;
    return {};
  };
  const { signal } = new AbortController();
  const options = { milliseconds: 2000, processes: 1, delay: net.time.delay, signal };
  const done = runForecast(relay, { categories: names, tenantId: undefined }, options);
  for (let tenth = 0; tenth < 20; tenth++) {
    for (const category of categories) for (let call = 0; call < 20; call++) category.debug('m', attributes);
    await net.time.pass(100);
  }
  await net.time.pass(1100);
  const loads = [...(await done).categories.values()];
  // The timer ticks twenty times a second.
  assert.ok(built <= 400 + 40 * 100, `${built} of 160,000`);
  assert.ok(loads.every(({ callsPerSecond, bytesPerSecond }) => callsPerSecond > 150 && bytesPerSecond > 0));
});

test('what the budget would drop is said for a load that goes on, and nothing of bursts that it allows', async () => {
  // 100 calls a second, and 200 at once.
  const load = async (perTenth: (tenth: number) => number, seconds: number) => {
    const net = network();
    const a = net.process('a');
    let tenth = 0;
    const calls = () => {
      const count = perTenth(tenth++);
      for (let call = 0; call < count; call++) a.database.debug('m');
    };
    return (await forecast(net, a, calls, { seconds })).load.droppedPerSecond;
  };
  assert.equal(await load(() => 9, 10), 0);
  assert.equal(await load((tenth) => (tenth % 20 === 0 ? 150 : 0), 10), 0, 'a burst every two seconds');
  const sustained = await load(() => 50, 2);
  assert.ok(Math.abs(sustained - 400) < 15, `${sustained} of 500 a second`);
  const few = await load((tenth) => (tenth === 0 ? 250 : 0), 10);
  assert.ok(few > 0, 'more at once than the budget has');
});

test('a category that is on is measured as it runs, with what its budget drops', async () => {
  const net = network();
  const a = net.process('a');
  a.attachment.setBase(0, true);
  const calls = () => {
    for (let call = 0; call < 50; call++) a.database.debug('m');
  };
  const { load } = await forecast(net, a, calls, { seconds: 2 });
  assert.ok(Math.abs(load.callsPerSecond - 500) < 15, `${load.callsPerSecond}`);
  assert.equal(a.gate.callsTotal(0), 1000);
});

test('a forecast that is given up ends everywhere', async () => {
  const net = network();
  const [a, b] = [net.process('a'), net.process('b')];
  const controller = new AbortController();
  const calls = () => b.database.debug('m');
  const other = forecast(net, a, calls, { processes: 2, signal: controller.signal });
  await net.time.pass(0);
  controller.abort(new Error('gone'));
  await assert.rejects(other, /gone/);
  assert.deepEqual([a.database.enabled, b.database.enabled, net.time.pending], [false, false, 0]);
});
