import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRdcp } from '../../src/assembly/rdcp.ts';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import { timers } from '../../src/wire/time/timers.ts';
import { KEYS, startServer } from '../support/server.ts';
import { network, receiver } from './network.ts';

const SPEC = { categories: ['DATABASE'], rate: 100, log: false };

/** Messages, with a mark on those from before the tail. */
const shown = (lines: readonly { readonly message: string; readonly history?: true }[]) =>
  lines.map(({ message, history }) => (history ? `earlier: ${message}` : message));

describe('the lines from before a tail', () => {
  it('come first, from each process its own, where they are asked for', async () => {
    const net = network();
    const [a, b] = [net.process('a', { historySeconds: 60 }), net.process('b', { historySeconds: 60 })];
    a.database.debug('too old');
    await net.time.pass(31_000);
    a.database.debug('of a', { password: 'hunter2' });
    b.database.debug('of b');
    const [with30, without] = [receiver(), receiver()];
    const tails = [a.relay.tail({ ...SPEC, since: 30 }, with30), a.relay.tail(SPEC, without)];
    a.database.debug('now');
    await net.time.pass(100);
    const of = (name: string) => shown(with30.received.filter(({ instance }) => instance === name));
    assert.deepEqual([of('a'), of('b')], [['earlier: of a', 'now'], ['earlier: of b']]);
    assert.deepEqual(shown(without.received), ['now']);
    assert.doesNotMatch(JSON.stringify(with30.received), /hunter2/);
    assert.deepEqual([a.lines, a.gate.callsTotal(0)], [[], 0]);
    for (const tail of tails) tail.end();
    for (const { history } of [a, b]) history!.close();
    assert.deepEqual([a.database.enabled, net.time.pending], [false, 0]);
  });

  it('are kept no longer when the remote control is closed', async (t) => {
    const begun = t.mock.method(timers, 'setInterval');
    const ended = t.mock.method(timers, 'clearInterval');
    const rdcp = createRdcp({
      server: false,
      announce: false,
      emit: { to: () => {} },
      tail: { historySeconds: 60, historyCategories: ['DATABASE'] },
    });
    await rdcp.close();
    const over = new Set(ended.mock.calls.map(({ arguments: [interval] }) => interval));
    assert.deepEqual(begun.mock.calls.filter(({ result }) => !over.has(result)).length, 0);
    assert.ok(over.size > 0);
  });

  it('are those of the tenant alone', async () => {
    const net = network();
    const a = net.process('a', { historySeconds: 60 });
    for (const tenant of ['acme', 'beta']) a.gate.runWithTenant(tenant, () => a.database.debug(tenant));
    a.database.debug('nobody’s');
    const acme = receiver();
    a.relay.tail({ ...SPEC, tenantId: 'acme', since: 60 }, acme);
    await net.time.pass(100);
    assert.deepEqual(shown(acme.received), ['earlier: acme']);
  });

  it('pass the filter', async () => {
    const net = network();
    const a = net.process('a', { historySeconds: 60 });
    for (const message of ['query', 'other']) a.database.debug(message);
    const filtered = receiver();
    a.relay.tail({ ...SPEC, since: 60, filter: { text: 'query*' } }, filtered);
    for (let turn = 0; turn < 20 && filtered.received.length === 0; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
      await net.time.pass(100);
    }
    assert.deepEqual(shown(filtered.received), ['earlier: query']);
  });

  it('are the newest, within the rate and in bounded memory; the others count as dropped', async () => {
    const net = network();
    const a = net.process('a', { historySeconds: 300 });
    for (let second = 0; second < 5; second++) {
      for (let line = 0; line < 1000; line++) a.database.debug(`${second} ${line}`, { text: 'x'.repeat(900) });
      await net.time.pass(1000);
    }
    const kept = a.history!.last(300);
    assert.ok(kept.length > 500 && kept.length <= 1000, `${kept.length} lines of about 1 KiB in 1 MiB`);
    const read = receiver();
    a.relay.tail({ ...SPEC, rate: 10, since: 5 }, read);
    await net.time.pass(100);
    assert.deepEqual(
      read.received.map(({ message }) => message),
      kept.slice(-50).map(({ message }) => message),
    );
    assert.equal(read.counts.dropped, kept.length - 50);
  });
});

describe('GET and POST /rdcp/v1/tail', () => {
  it('refuse since where no lines are kept, for longer, and of some work', async (t) => {
    const none = await startServer(t);
    const some = await startServer(t, { config: { tail: { historySeconds: 30, historyCategories: ['DATABASE'] } } });
    const asking = async (url: string, options: object) => {
      const client = createRdcpClient({ baseUrl: url, apiKey: KEYS.admin });
      for await (const { event } of client.tail('DATABASE', options)) return event;
      return undefined;
    };
    await assert.rejects(asking(none.url, { since: '30s' }), /'?since'? needs tail\.historySeconds/);
    await assert.rejects(asking(some.url, { since: '31s' }), /since.* must be at most 30s/);
    await assert.rejects(asking(some.url, { since: '30s', when: { failed: true } }), /since.* cannot be combined/);
    await assert.rejects(
      asking(some.url, { since: '30s', target: { match: { 'user.id': '42' } } }),
      /since.* cannot be combined/,
    );
    assert.equal(await asking(some.url, { since: '30s' }), 'start');
    assert.equal(await asking(some.url, { since: 30, filter: { text: 'query' } }), 'start');
  });
});
