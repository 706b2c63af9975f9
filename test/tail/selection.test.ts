// In a process of its own: it follows the HTTP requests of the process.

import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import type { Tap } from '../../src/calls/emit/taps.ts';
import { runForecast } from '../../src/calls/tail/forecasts.ts';
import { LineTap } from '../../src/calls/tail/line-tap.ts';
import type { CountsByCategory, TapFilter } from '../../src/calls/tail/types.ts';
import { WorkFollower } from '../../src/calls/work/match.ts';
import { WorkContext } from '../../src/gate/work.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { describeCalls } from '../../src/wire/call-counts.ts';
import { PATHS } from '../../src/wire/constants.ts';
import type { ErrorResponse } from '../../src/wire/messages.ts';
import { clientOf, startServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { settled, virtualTime } from '../support/virtual-time.ts';
import { network, receiver } from './network.ts';

const USER = { 'user.id': '42' };

/** What a tail of two processes gets of calls that each makes for two users. */
async function tailed(filter: Partial<TapFilter>, calls = 1) {
  const { process, time } = network();
  const processes = [process('a'), process('b')] as const;
  const got = receiver();
  const running = processes[0].relay.tail({ categories: ['DATABASE'], rate: 100, log: false, ...filter }, got);
  // A filter is compiled meanwhile, once its language is loaded.
  await until('the filter is compiled', async () => {
    for (const { gate, database } of processes)
      gate.work.run(USER, () => database.debug('ready of 42', { rows: 2000 }));
    await time.pass(50);
    return got.instances.length === 2 && got.received.length > 0;
  });
  await time.pass(2000);
  got.received.length = 0;
  got.counts.dropped = 0;
  for (let call = 0; call < calls; call++) {
    for (const { gate, database } of processes) {
      for (const user of ['42', '43']) {
        gate.work.run({ 'user.id': user }, () =>
          database.debug(`query of ${user}`, { rows: user === '42' ? 1500 : 7 }),
        );
      }
      database.debug('query of nobody');
    }
  }
  await time.pass(100);
  running.end();
  await time.pass(0);
  assert.deepEqual(
    processes.map(({ database }) => database.enabled),
    [false, false],
  );
  return { ...got, messages: got.received.map(({ instance, message }) => `${instance} ${message}`).sort() };
}

describe('a tail of some work or some lines', () => {
  for (const [name, filter] of [
    ['work with an attribute', { match: USER }],
    ['lines for which an expression is true', { filter: { where: 'rows > 1000' } }],
    ['lines with a message', { filter: { text: '*of 42' } }],
    ['what both conditions name', { match: { 'user.id': '*' }, filter: { where: 'rows > 1000', sample: 1 } }],
  ] as const) {
    it(`has ${name}, of every process, and no other`, async () => {
      const { messages, counts } = await tailed(filter);
      assert.deepEqual([messages, counts.dropped], [['a query of 42', 'b query of 42'], 0]);
    });
  }

  it('counts only lines that the filter passes against its rate', async () => {
    const { messages, counts } = await tailed({ filter: { where: 'rows > 1000' } }, 60);
    assert.deepEqual([messages.length, counts.dropped], [120, 0]);
  });

  it('makes a category enabled for that work alone', async () => {
    const { process, time } = network();
    const { relay, gate, database } = process('a');
    relay.tail({ categories: ['DATABASE'], rate: 100, log: false, match: USER }, receiver());
    await time.pass(50);
    assert.equal(
      gate.work.run(USER, () => database.enabled),
      true,
    );
    assert.equal(database.enabled, false);
  });
});

test('a filter that takes its time is given no more lines in that second, and they count as dropped', async () => {
  const { clock, suspend } = virtualTime();
  const taps: Tap[] = [];
  const category = { index: 0, name: 'DATABASE', description: '', defaultEnabled: false };
  const tap = new LineTap(
    {
      gate: { categories: () => [category] },
      addTap: (_category, added) => {
        taps.push(added);
        return () => undefined;
      },
      instanceId: 'a',
      recorder: { record: () => () => {} },
      work: new WorkFollower(new WorkContext()),
      clock,
      now: clock.now,
      random: () => {
        suspend(60);
        return 0;
      },
    },
    { categories: ['DATABASE'], rate: 100, log: false, filter: { sample: 0.5 } },
  );
  await settled();
  const call = {
    severity: 'DEBUG',
    message: 'query',
    attributes: {},
    simple: true,
    tenantId: undefined,
    bytes: 5,
  } as const;
  const attempt = () => {
    const [each] = taps;
    const admitted = each!.admits();
    if (admitted) each!.take(category, { ...call });
    return admitted;
  };
  assert.deepEqual([attempt(), attempt(), attempt()], [true, false, false]);
  const { lines, dropped } = tap.fetch();
  assert.deepEqual([lines.length, dropped], [1, 2]);
  suspend(100);
  assert.equal(attempt(), false, 'the time beyond the first 50 ms is made up for');
  suspend(200);
  assert.equal(attempt(), true);
});

describe('a tail or forecast without a line says what became of the calls, which it has counted in every process', () => {
  for (const [name, filter, expected] of [
    ['another attribute', { match: { userid: '42' } }, 'none had userid=42 (attributes seen: user.id, tenant)'],
    ['a text', { filter: { text: 'nothing*' } }, 'none passed text nothing*'],
    ['a missing field', { filter: { where: 'user == "42"' } }, '40 could not be evaluated: no field `user`'],
    ['no failure', { when: { failed: true as const } }, 'none was of work that failed'],
    ['no work', { when: { failed: true as const } }, 'none was part of work whose end is seen'],
    ['another tenant', { tenantId: 'acme' }, undefined],
  ] as const) {
    it(name, async () => {
      const { process, time } = network();
      const processes = [process('a'), process('b')] as const;
      const { relay } = processes[0];
      if ('filter' in filter) await relay.check(filter);
      const asked = { categories: ['DATABASE'], ...filter };
      const running = relay.tail({ ...asked, rate: 100, log: false }, receiver());
      const options = { milliseconds: 1000, processes: 2, delay: time.delay, signal: new AbortController().signal };
      const forecast = runForecast(relay, asked, options);
      await settled();
      await time.pass(100);
      for (let call = 0; call < 20; call++) {
        for (const { gate, database } of processes) {
          // A guard stands for the call that it spares.
          const query = () => (call % 2 === 0 || database.enabled) && database.debug('query');
          if (name === 'no work') query();
          else gate.work.run({ 'user.id': '42', tenant: 'x' }, query);
        }
      }
      await time.pass(2000);
      const { tenantId: tenant, ...part } = { tenantId: undefined, ...filter };
      const said = (counts: CountsByCategory, counted: number) =>
        describeCalls({ categories: ['DATABASE'], counts, counted, asked: 2, seconds: 2, tenant, ...partOf(part) });
      const sentence =
        expected === undefined
          ? 'DATABASE was not called for tenant acme in 2 s in 2 processes, but 40 times for others'
          : `DATABASE was called 40 times in 2 s in 2 processes; ${expected}`;
      assert.equal(said(running.counts.categories, running.counts.instances), sentence);
      const { categories, instances } = await forecast;
      assert.equal(said({ DATABASE: categories.get('DATABASE')!.counts! }, instances.answered), sentence);
      running.end();
    });
  }
});

test('calls are not missing what was not asked for', () => {
  const counts = {
    DATABASE: { calls: 35, unmatched: 30, outsideWork: 0, filtered: 2, unevaluated: 0, attributes: [] },
  };
  const text = describeCalls({ categories: ['DATABASE'], counts, counted: 1, asked: 1, seconds: 3 });
  assert.equal(text, 'DATABASE was called 35 times in 3 s');
});

test('in a forecast with a process of a release that does not count calls, it is not known how often they were called', async () => {
  const { process, time, sent } = network();
  const { relay } = process('a');
  const options = { milliseconds: 1000, processes: 2, delay: time.delay, signal: new AbortController().signal };
  const done = runForecast(relay, { categories: ['DATABASE'], tenantId: 'acme' }, options);
  await settled();
  const { id } = JSON.parse(sent[0]!.message);
  const categories = { DATABASE: { calls: 6, bytes: 600, dropped: 0 } };
  relay.hear(JSON.stringify({ type: 'measured', id, instance: 'old', seconds: 2, categories }), 'at-old');
  await time.pass(2100);
  const { instances, categories: loads } = await done;
  const { callsPerSecond, counts } = loads.get('DATABASE')!;
  assert.deepEqual([instances, callsPerSecond, counts], [{ asked: 2, answered: 2 }, 3, undefined]);
});

function partOf({ match, ...others }: Partial<TapFilter>) {
  return { ...others, ...(match !== undefined && { target: { match } }) };
}

test('a forecast counts the lines of some work, and those that a filter passes', async () => {
  for (const filter of [{ match: USER }, { filter: { where: 'rows > 1000' } }]) {
    const { process, time } = network();
    const { relay, gate, database } = process('a');
    const options = { milliseconds: 10_000, processes: 1, delay: time.delay, signal: new AbortController().signal };
    const done = runForecast(relay, { categories: ['DATABASE'], ...filter }, options);
    // Loads the expression language, which the filter needs.
    if ('filter' in filter) await relay.check(filter);
    for (let tenth = 0; tenth < 100; tenth++) {
      for (const user of ['42', '43', '44', '45']) {
        gate.work.run({ 'user.id': user }, () => database.debug('query', { rows: user === '42' ? 1500 : 7 }));
      }
      await time.pass(100);
    }
    await time.pass(1100);
    const { callsPerSecond, bytesPerSecond } = (await done).categories.get('DATABASE')!;
    assert.ok(Math.abs(callsPerSecond - 10) < 0.5, `${JSON.stringify(filter)}: ${callsPerSecond} calls a second`);
    assert.ok(bytesPerSecond > 0);
  }
});

test('target and filter come in the body of a tail, and what cannot be matched is refused', async (t) => {
  const server = await startServer(t);
  const refused = async (path: string, body: object) => {
    const { status, body: answer } = await server.request<ErrorResponse>(path, { key: 'admin', method: 'POST', body });
    return [status, answer.error.details?.field, answer.error.code];
  };
  for (const path of [PATHS.tail, PATHS.forecast]) {
    for (const [given, field] of [
      [{ target: {} }, 'target.match'],
      [{ target: { match: {} } }, 'target.match'],
      [{ target: { match: { a: '1', b: '1', c: '1', d: '1', e: '1' } } }, 'target.match'],
      [{ target: { match: { 'user.id': 42 } } }, 'target.match.user.id'],
      [{ target: { match: { 'user id': '42' } } }, 'target.match.user id'],
      [{ target: { match: { 'http.request.header.Cookie': 'a*' } } }, 'target.match.http.request.header.Cookie'],
      [{ target: { match: USER, instances: {} } }, 'target.instances'],
      [{ filter: {} }, 'filter'],
      [{ filter: { where: '' } }, 'filter.where'],
      [{ filter: { where: 'rows >' } }, 'filter.where'],
      [{ filter: { where: `a == "${'x'.repeat(512)}"` } }, 'filter.where'],
      [{ filter: { text: 'x'.repeat(257) } }, 'filter.text'],
      [{ filter: { sample: 0 } }, 'filter.sample'],
      [{ filter: { sample: 1.5 } }, 'filter.sample'],
      [{ filter: { wher: 'a == 1' } }, 'filter.wher'],
    ] as const) {
      const answer = await refused(path, { categories: 'HTTP', ...given });
      assert.deepEqual(answer, [400, field, 'RDCP_MALFORMED_REQUEST'], `${path} ${JSON.stringify(given)}`);
    }
  }
  const { body } = await server.request<AuditResponse>(`${PATHS.audit}?action=tail`, { key: 'admin' });
  assert.deepEqual(body.entries, []);
});

test('the trail says by what a tail was narrowed, and names no value', async (t) => {
  const server = await startServer(t);
  const target = { match: { 'http.request.header.x-customer': '77' } };
  for await (const _ of clientOf(server).tail('HTTP', { target, filter: { where: 'path == "/checkout"' } })) break;
  const { body } = await server.request<AuditResponse>(`${PATHS.audit}?action=tail`, { key: 'admin' });
  const begun = body.entries.find(({ reason }) => reason?.startsWith('begun'))!;
  assert.match(begun.reason!, / for work with http\.request\.header\.x-customer, filtered by where$/);
  assert.doesNotMatch(JSON.stringify(body), /"77"|checkout/);
});
