import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PastWork } from '../../src/calls/recorder/types.ts';
import { findFailures } from '../../src/calls/tail/failures.ts';
import { Tail, type TailRequest, type TailSummary } from '../../src/calls/tail/tail.ts';
import { parseConfig } from '../../src/options/config.ts';
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
    now: ({ asked, answered }: { readonly asked: number; readonly answered: number }) => {
      seen.push(`now: ${answered} of ${asked}, ${lines.length} lines`);
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

describe('a tail with since', () => {
  it('gives what each process has recorded in the order of time, then live lines, none twice', async () => {
    const net = network();
    const [a, b] = [net.process('a'), net.process('b')];
    const now = net.time.clock.now();
    for (let at = 0; at < 10; at++) (at % 3 === 0 ? a : b).recorded.add(now - 1000 + at, `${at}`);
    a.recorded.add(now - 31_000, 'too old');
    const { seen, tail, lines } = readingTail(net, a, { since: 30, processes: 2 });
    for (const process of [a, b]) process.database.debug(`live of ${process.address}`);
    await net.time.pass(1000);
    const read = lines.map(({ message }) => message);
    assert.deepEqual(read.slice(0, 10), [...'0123456789']);
    assert.deepEqual(read.slice(10).sort(), ['live of at-a', 'live of at-b']);
    assert.deepEqual(seen, ['now: 2 of 2, 10 lines']);
    assert.deepEqual(
      lines.map(({ recorded }) => recorded === true),
      [...Array(10).fill(true), false, false],
    );
    tail.end('closed');
    assert.deepEqual([a.database.enabled, b.database.enabled, net.time.pending], [false, false, 0]);
  });

  it('loses none to a slow reader, to the rate, or to messages that are lost, and ends with the past', async () => {
    const net = network();
    const [a, b] = [net.process('a'), net.process('b')];
    const now = net.time.clock.now();
    for (let request = 0; request < 10_000; request++) {
      const user = String(request % 100);
      (request % 2 === 0 ? a : b).recorded.add(now - 20_000 + request, `${request}`, {
        attributes: { 'user.id': user },
      });
    }
    const all = readingTail(net, a, { since: 30, processes: 2, past: true }, 64 * 1024);
    const one = readingTail(net, a, { since: 30, processes: 2, past: true, match: { 'user.id': '42' } });
    await net.time.pass(150);
    net.cut.add(b.address);
    await net.time.pass(2000);
    net.cut.delete(b.address);
    await net.time.pass(20_000);
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
  });

  it('names the processes that do not answer, and takes the tenant, the filter and the number of lines into account', async () => {
    const net = network();
    const [a, b] = [net.process('a'), net.process('b')];
    const now = net.time.clock.now();
    for (const tenant of ['acme', 'beta'])
      for (const message of ['query', 'other']) a.recorded.add(now, message, { tenant });
    net.cut.add(b.address);
    const asked = { since: 30, processes: 2, past: true };
    const tails = [
      readingTail(net, a, { ...asked, tenantId: 'acme' }),
      readingTail(net, a, { ...asked, filter: { text: 'query*' } }),
      readingTail(net, a, { ...asked, lines: 1 }),
      readingTail(net, a, { ...asked, categories: ['CACHE'] }),
    ];
    for (let turn = 0; turn < 20; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
      await net.time.pass(500);
    }
    assert.deepEqual(
      tails.map(({ shown, seen, summary }) => [shown, seen, summary?.reason]),
      [
        [['recorded: query', 'recorded: other'], ['now: 1 of 2, 2 lines'], 'past'],
        [['recorded: query', 'recorded: query'], ['now: 1 of 2, 2 lines'], 'past'],
        [['recorded: query'], [], 'budget'],
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

describe('work that failed', () => {
  it('is listed from every process, the newest first, within the categories and the limit', async () => {
    const net = network();
    const [a, b] = [net.process('a'), net.process('b')];
    const now = net.time.clock.now();
    const work = (at: number, more: Partial<PastWork> = {}): PastWork => ({
      id: `id${at}`,
      at: now - at,
      outcome: 'POST /orders 500 after 12 ms, CreditError',
      milliseconds: 12,
      attributes: { 'user.id': '42' },
      lines: { DATABASE: 2, CACHE: 1 },
      ...more,
    });
    a.recorded.failed.push(work(30_000), work(9), work(5, { lines: { CACHE: 3 } }), work(2, { tenant: 'acme' }));
    b.recorded.failed.push(...Array.from({ length: 250 }, (_, at) => work(1000 - at, { outcome: 'x'.repeat(5000) })));
    a.recorded.reach = { since: now - 41_000, works: 4, bytes: 1 };
    b.recorded.reach = { since: now - 50_000, works: 250, bytes: 1 };
    const ask = async (filter: object, limit: number) => {
      const gathering = { processes: 2, delay: net.time.delay, signal: new AbortController().signal };
      const found = findFailures(a.relay, { categories: ['DATABASE'], ...filter }, { since: 20, limit }, gathering);
      await net.time.pass(6000);
      return found;
    };
    const { failures, ...rest } = await ask({}, 3);
    assert.deepEqual(rest, { instances: { asked: 2, answered: 2 }, more: true, reach: 41 });
    assert.deepEqual(
      failures.map(({ id, service, instance, lines }) => [id, service, instance, lines]),
      [
        ['id2', 'service of a', 'a', { DATABASE: 2 }],
        ['id9', 'service of a', 'a', { DATABASE: 2 }],
        ['id751', 'service of b', 'b', { DATABASE: 2 }],
      ],
    );
    assert.equal(failures[2]!.outcome.length, 512);
    assert.equal((await ask({}, 200)).failures.length, 200);
    net.cut.add(b.address);
    const acme = await ask({ tenantId: 'acme' }, 200);
    assert.deepEqual([acme.failures.map(({ id }) => id), acme.instances], [['id2'], { asked: 2, answered: 1 }]);
    assert.equal(net.time.pending, 0);
  });
});
