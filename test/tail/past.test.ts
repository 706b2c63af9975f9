import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findFailures } from '../../src/calls/tail/failures.ts';
import { Tail, type TailRequest, type TailSummary } from '../../src/calls/tail/tail.ts';
import { parseConfig } from '../../src/options/config.ts';
import type { TailNow } from '../../src/wire/streams.ts';
import { type Network, network } from './network.ts';

const SPEC = { categories: ['DATABASE'], rate: 100, log: false, milliseconds: 60_000, processes: 1 };

/** A reader that has room for so many characters each 50 ms, and what it was sent. */
function readingTail(net: Network, of: ReturnType<Network['process']>, request: Partial<TailRequest>, pace = Infinity) {
  const seen: string[] = [];
  const lines: { readonly message: string; readonly instance: string; readonly recorded?: true }[] = [];
  let room = pace;
  const stop = net.time.schedule(50, () => {
    room = pace;
  });
  let summary: TailSummary | undefined;
  const reader = {
    line(text: string) {
      if (room < text.length) return false;
      room -= text.length;
      lines.push(JSON.parse(text));
      return true;
    },
    dropped: () => true,
    counts: () => true,
    instance: () => true,
    now: ({ instances: { asked, answered }, reachesBack }: TailNow) => {
      const reach = reachesBack === undefined ? '' : ` of ${reachesBack}`;
      seen.push(`now: ${answered} of ${asked}, ${lines.length} lines${reach}`);
      return true;
    },
    end: () => {},
  };
  const tail = new Tail({ ...SPEC, ...request }, reader, net.time, (result) => {
    summary = result;
    stop();
  });
  tail.begin(of.relay);
  return {
    tail,
    lines,
    seen,
    get summary() {
      return summary;
    },
    get shown() {
      return lines.map(({ message, recorded }) => (recorded ? `recorded: ${message}` : message));
    },
  };
}

/** Processes that record, and a function that does a piece of work in one of them. */
function recording(options: readonly Parameters<Network['process']>[1][] = [{}, {}]) {
  const net = network();
  const processes = options.map((each, at) => net.process('ab'[at]!, each));
  for (const { record } of processes) record();
  return {
    net,
    processes,
    /** @param attributes of the work; `tenant` is its tenant */
    work(at: number, messages: readonly string[], attributes: Readonly<Record<string, string>> = {}) {
      const { gate, database } = processes[at]!;
      const { tenant, ...others } = attributes;
      const does = () => {
        for (const message of messages) database.debug(message, { password: 'hunter2' });
        if (attributes.fails !== undefined) database.fail(new TypeError('secret'));
      };
      const run = () => gate.work.run(others, () => gate.work.runNamed('job', does));
      if (tenant === undefined) run();
      else gate.runWithTenant(tenant, run);
    },
  };
}

/** Reading the past takes turns of the event loop that time of a test does not. */
async function settle({ time }: Network, milliseconds: number): Promise<void> {
  for (let passed = 0; passed < milliseconds; passed += 50) {
    await new Promise((resolve) => setImmediate(resolve));
    await time.pass(50);
  }
}

describe('a tail with since', () => {
  it('gives what each process has recorded in the order of time, then live lines, none twice', async () => {
    const { net, processes, work } = recording();
    const [a] = processes as [(typeof processes)[0]];
    work(0, ['too old']);
    await net.time.pass(31_000);
    for (let at = 0; at < 10; at++) {
      work(at % 3 === 0 ? 0 : 1, [String(at)]);
      net.time.setWall(net.time.clock.now() + 1);
    }
    const { seen, tail, lines } = readingTail(net, a, { since: 30, processes: 2 });
    for (const { address, database } of processes) database.debug(address);
    await settle(net, 1000);
    const read = lines.map(({ message }) => message);
    assert.deepEqual(read.slice(0, 10), [...'0123456789']);
    assert.deepEqual(read.slice(10).sort(), ['at-a', 'at-b']);
    assert.deepEqual(seen, ['now: 2 of 2, 10 lines']);
    assert.deepEqual(
      lines.map(({ recorded }) => recorded === true),
      [...Array(10).fill(true), false, false],
    );
    assert.doesNotMatch(JSON.stringify(lines), /hunter2/);
    assert.deepEqual([a.lines, a.gate.callsTotal(0)], [[], 0]);
    tail.end('closed');
  });

  it('says how far back all processes reach, where that is less than was asked for', async () => {
    const { net, processes } = recording();
    const read = async (since: number) => {
      const { seen, tail } = readingTail(net, processes[0]!, { since, processes: 2, past: true });
      await settle(net, 300);
      tail.end('closed');
      return seen;
    };
    await net.time.pass(10_000);
    assert.deepEqual([await read(8), await read(20)], [['now: 2 of 2, 0 lines'], ['now: 2 of 2, 0 lines of 10s']]);
  });

  it('loses none of 10,000 requests to a slow reader, to the rate, or to messages that are lost', async () => {
    const { net, processes, work } = recording();
    for (let request = 0; request < 10_000; request++) {
      work(request % 2, [String(request)], { 'user.id': String(request % 100) });
      net.time.setWall(net.time.clock.now() + 1);
    }
    const asked = { since: 30, processes: 2, past: true };
    const all = readingTail(net, processes[0]!, asked, 64 * 1024);
    const one = readingTail(net, processes[0]!, { ...asked, match: { 'user.id': '42' } });
    await settle(net, 500);
    net.cut.add('at-b');
    await settle(net, 2000);
    net.cut.delete('at-b');
    for (let turn = 0; turn < 100 && all.summary === undefined; turn++) await settle(net, 1000);
    assert.deepEqual(
      [all.summary, one.summary],
      [
        { reason: 'past', lines: 10_000, dropped: 0 },
        { reason: 'past', lines: 100, dropped: 0 },
      ],
    );
    assert.deepEqual(
      all.lines.map(({ message }) => Number(message)),
      Array.from({ length: 10_000 }, (_, at) => at),
    );
    assert.ok(one.lines.every(({ message }) => Number(message) % 100 === 42));
  });

  it('takes tenant, filter, outcome and number of lines into account, and counts the processes that do not answer', async () => {
    const { net, processes, work } = recording();
    await net.time.pass(30_000);
    for (const tenant of ['acme', 'beta']) work(0, ['query', 'other'], { tenant });
    work(0, ['query of failed'], { fails: 'true' });
    net.cut.add('at-b');
    const asked = { since: 30, processes: 2, past: true };
    const tails = [
      { tenantId: 'acme' },
      { filter: { text: 'query*' } },
      { filter: { where: 'tenant == "beta"' } },
      { when: { failed: true as const } },
      { lines: 1 },
      { categories: ['CACHE'] },
    ].map((part) => readingTail(net, processes[0]!, { ...asked, ...part }));
    await settle(net, 7000);
    const query = 'recorded: query';
    assert.deepEqual(
      tails.map(({ shown, seen, summary }) => [shown, seen, summary?.reason]),
      [
        [[query, 'recorded: other'], ['now: 1 of 2, 2 lines'], 'past'],
        [[query, query, `${query} of failed`], ['now: 1 of 2, 3 lines'], 'past'],
        [[query, 'recorded: other'], ['now: 1 of 2, 2 lines'], 'past'],
        [[`${query} of failed`], ['now: 1 of 2, 1 lines'], 'past'],
        [[query], [], 'budget'],
        [[], ['now: 1 of 2, 0 lines'], 'past'],
      ],
    );
  });

  it('takes the place of options that a configuration may still have', () => {
    for (const field of ['historySeconds', 'historyCategories']) {
      assert.throws(() => parseConfig({ tail: { [field]: 30 } }), {
        message: `configuration: tail.${field} is not a known field: recorder.categories and recorder.keepSeconds take its place`,
      });
    }
  });
});

it('work that failed is listed from every process, the newest first, within tenant, attributes and limit', async () => {
  const { net, processes, work } = recording();
  work(0, ['too old'], { fails: 'true' });
  await net.time.pass(41_000);
  for (const [at, attributes] of [{ 'user.id': '42' }, {}, { tenant: 'acme' }].entries()) {
    work(at % 2, ['one', 'two'], { fails: String(at), ...attributes });
    net.time.setWall(net.time.clock.now() + 1);
  }
  work(0, ['succeeded']);
  const ask = async (filter: object, limit: number) => {
    const gathering = { processes: 2, delay: net.time.delay, signal: new AbortController().signal };
    const part = { categories: ['DATABASE'], ...filter };
    const found = findFailures(processes[0]!.relay, part, { since: 20, limit }, gathering);
    await settle(net, 6000);
    return found;
  };
  const { failures, ...rest } = await ask({}, 2);
  assert.deepEqual(rest, { instances: { asked: 2, answered: 2 }, more: true, reach: 41.003 });
  assert.deepEqual(
    failures.map(({ service, instance, tenant, lines, outcome }) => {
      const what = outcome.replace(/\d+ ms/, 'some ms');
      return [service, instance, tenant, lines, what];
    }),
    [
      ['service of a', 'a', 'acme', { DATABASE: 2 }, 'job failed after some ms, TypeError'],
      ['service of b', 'b', undefined, { DATABASE: 2 }, 'job failed after some ms, TypeError'],
    ],
  );
  const [of42] = (await ask({ match: { 'user.id': '42' } }, 200)).failures;
  assert.deepEqual(of42?.attributes, { 'user.id': '42', fails: '0' });
  const opened = { since: 60, past: true, filter: { where: `attributes["rdcp.work.id"] == "${of42?.id}"` } };
  const lines = readingTail(net, processes[0]!, opened);
  net.cut.add('at-b');
  const acme = await ask({ tenantId: 'acme' }, 200);
  assert.deepEqual([acme.failures.length, acme.instances], [1, { asked: 2, answered: 1 }]);
  assert.deepEqual(lines.shown, ['recorded: one', 'recorded: two']);
});
