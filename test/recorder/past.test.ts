import assert from 'node:assert/strict';
import { AsyncResource } from 'node:async_hooks';
import { describe, it, type TestContext } from 'node:test';
import { context, propagation, ROOT_CONTEXT } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import type { Call } from '../../src/calls/emit/record.ts';
import type { PastQuery, RecorderLimits } from '../../src/calls/recorder/types.ts';
import { ANY_LEVEL } from '../../src/gate/levels.ts';
import { Work } from '../../src/gate/work.ts';
import { fieldOf } from '../../src/wire/thrown.ts';
import { HOSTILE, revoked } from '../emit/hostile.ts';
import { followedProcess } from './recording.ts';

context.setGlobalContextManager(new AsyncLocalStorageContextManager());

/** A process that records `ORDERS` and `CARDS`. */
function recording(t: TestContext, limits: Partial<RecorderLimits> = {}) {
  const written: string[] = [];
  const followed = followedProcess(limits, ({ message }) => written.push(message));
  const { gate, sink } = followed;
  const orders = gate.category('ORDERS');
  const cards = gate.category('CARDS');
  for (const category of gate.categories()) sink.setRecorded(category, true);
  t.after(() => {
    for (const category of gate.categories()) sink.setRecorded(category, false);
  });
  const ask = (query: Partial<PastQuery> = {}): PastQuery => ({
    categories: ['ORDERS'],
    since: 0,
    limit: 1000,
    ...query,
  });
  return {
    ...{ ...followed, orders, cards, written, past: sink.recorder.past },
    read: (query?: Partial<PastQuery>) => sink.recorder.past.lines(ask(query)),
    messages: async (query?: Partial<PastQuery>) =>
      (await sink.recorder.past.lines(ask(query))).lines.map(({ message }) => message),
    works: (query?: Partial<PastQuery>) => sink.recorder.past.works(ask({ categories: [], ...query })),
  };
}

describe('the past', () => {
  it('holds exactly the lines of one user, of finished work and of work that goes on, in their order', async (t) => {
    const { gate, orders, time, messages } = recording(t);
    const ends: (() => void)[] = [];
    for (let user = 0; user < 50; user++) {
      gate.work.run({ 'user.id': user }, () =>
        gate.work.runNamed('order', () => {
          orders.debug(`user ${user} begins`);
          time.now += 1;
          orders.debug(`user ${user} pays`, () => ({ cents: user }));
          return user % 10 === 3 ? new Promise<void>((resolve) => ends.push(resolve)) : undefined;
        }),
      );
    }
    const lines = ['user 43 begins', 'user 43 pays'];
    assert.deepEqual(await messages({ match: { 'user.id': '43' } }), lines);
    for (const end of ends) end();
    await Promise.resolve();
    assert.deepEqual(await messages({ match: { 'user.id': '43' } }), lines);
    assert.deepEqual(await messages({ match: { 'user.id': '4*' }, filter: { text: '*begins' } }), [
      ...Array.from({ length: 1 }, () => 'user 4 begins'),
      ...Array.from({ length: 10 }, (_, index) => `user ${40 + index} begins`),
    ]);
    assert.equal((await messages()).length, 100);
    assert.deepEqual(await messages({ categories: ['CARDS'] }), []);
  });

  it('finds the lines of a work by an attribute that was set after them', async (t) => {
    const { gate, orders, messages } = recording(t);
    gate.work.runNamed('order', () => {
      orders.debug('before the user is known');
      gate.work.set({ 'user.id': 42 });
    });
    assert.deepEqual(await messages({ match: { 'user.id': '42' } }), ['before the user is known']);
  });

  it('knows a request by what it was, whatever baggage its client has sent', async (t) => {
    const { gate, orders, messages } = recording(t);
    const request = { method: 'GET', target: '/orders', address: undefined, header: () => undefined, route: '/orders' };
    const forged = Object.fromEntries(
      ['http.request.method', 'url.path', 'http.route', 'http.response.status_code', 'user.id', 'team'].map((name) => [
        name,
        { value: 'forged' },
      ]),
    );
    const work = new Work(undefined, request);
    const piece = gate.work.observer!.began(work);
    context.with(propagation.setBaggage(ROOT_CONTEXT, propagation.createBaggage(forged)), () =>
      AsyncResource.bind(() => {
        gate.work.begin(work);
        gate.work.set({ 'user.id': 42 });
        orders.debug('line');
      })(),
    );
    piece.answered(200);
    const found = async (name: string, value: string) => (await messages({ match: { [name]: value } })).length;
    for (const [name, value] of Object.entries({
      ...{ 'http.request.method': 'GET', 'url.path': '/orders', 'http.route': '/orders' },
      ...{ 'http.response.status_code': '200', 'user.id': '42' },
    }))
      assert.deepEqual([name, await found(name, value), await found(name, 'forged')], [name, 1, 0]);
    assert.equal(await found('team', 'forged'), 1);
  });

  it('masks what a line and work have, and finds nothing by an attribute that is hidden', async (t) => {
    const { gate, orders, read, works } = recording(t);
    const key = 'Bearer eyJhbGciOi.eyJzdWIiOi.SflKxwRJSM';
    gate.work.run({ 'user.id': 1, password: 'hunter2', note: `key ${key}` }, () =>
      gate.work.runNamed('order', () => {
        orders.debug(`with ${key}`, { password: 'hunter2', nested: { authorization: 'Bearer abcdefghijkl' } });
        gate.work.fail(new Error('x'));
      }),
    );
    assert.doesNotMatch(JSON.stringify([await read(), await works()]), /hunter2|eyJzdWIiOi|abcdefghijkl/);
    assert.deepEqual((await read({ match: { password: 'hunter2' } })).lines, []);
  });

  it('is of the tenant that is asked for, also of work that goes on', async (t) => {
    const { gate, orders, messages } = recording(t);
    for (const tenant of ['acme', 'globex']) {
      for (const open of [undefined, new Promise<void>(() => {})]) {
        const work = () => gate.work.runNamed('order', () => [orders.debug(`of ${tenant}`), open][1]);
        void gate.runWithTenant(tenant, work);
      }
    }
    assert.deepEqual(await messages({ tenantId: 'acme' }), ['of acme', 'of acme']);
  });

  it('shows of work for several users or tenants only the attributes of what is asked for', async (t) => {
    const { gate, orders, works } = recording(t);
    const attributesOf = async (query: Partial<PastQuery>) =>
      (await works(query)).works.map(({ attributes, tenant }) => [attributes, tenant]);
    gate.work.runNamed('nightly', () => {
      gate.work.set({ job: 'invoices' });
      for (const [index, tenant] of ['acme', 'globex'].entries()) {
        gate.runWithTenant(tenant, () =>
          gate.work.run({ 'user.id': index, [`of.${tenant}`]: true }, () => orders.debug(`of ${tenant}`)),
        );
      }
      gate.work.fail(undefined);
    });
    const ofAcme = [[{ job: 'invoices', 'user.id': '0', 'of.acme': 'true' }, 'acme']];
    assert.deepEqual(await attributesOf({ tenantId: 'acme' }), ofAcme);
    assert.deepEqual(await attributesOf({ tenants: ['ac*'] }), ofAcme);
    assert.deepEqual(await attributesOf({ match: { 'user.id': '0' } }), ofAcme);
    assert.deepEqual(await attributesOf({ match: { 'user.id': '7' } }), []);
    // Who may see several tenants sees work for all of them, and a tenant by which it may be passed on.
    const ofBoth = { job: 'invoices', 'user.id': '1', 'of.acme': 'true', 'of.globex': 'true' };
    assert.deepEqual(await attributesOf({}), [[ofBoth, undefined]]);
    assert.deepEqual(await attributesOf({ tenants: ['acme', 'glob*'] }), [[ofBoth, 'acme']]);
  });

  it('knows the work that failed or was slow, the newest first, and what it was', async (t) => {
    const { gate, orders, cards, time, works, messages } = recording(t);
    const run = (name: string, milliseconds: number, error?: Error) =>
      gate.work.runNamed(name, () => {
        orders.debug(`of ${name}`);
        cards.debug('charged');
        time.now += milliseconds;
        if (error !== undefined) gate.work.fail(error);
      });
    run('first', 5, new TypeError('no'));
    run('second', 5);
    run('slow', 2500);
    run('third', 7, new RangeError('no'));
    const { works: failed, more } = await works({ limit: 1 });
    assert.deepEqual(
      failed.map(({ outcome, lines }) => [outcome, lines]),
      [['third failed after 7 ms, RangeError', { ORDERS: 1, CARDS: 1 }]],
    );
    assert.equal(more, true);
    const outcomes = async (query: Partial<PastQuery>) => (await works(query)).works.map(({ outcome }) => outcome);
    assert.deepEqual(await outcomes({ when: { slowerThan: '2s' } }), ['slow done after 2.5 s']);
    assert.deepEqual(await outcomes({ when: { failed: true, slowerThan: '2s' } }), [
      'third failed after 7 ms, RangeError',
      'slow done after 2.5 s',
      'first failed after 5 ms, TypeError',
    ]);
    assert.deepEqual(await messages({ when: { failed: true } }), ['of first', 'of third']);
  });

  it('ends with the time and the memory for it, and says how far it reaches back', async (t) => {
    const { gate, orders, time, past, read, messages, tick } = recording(t, { keepSeconds: 10, keepBytes: 65_536 });
    const run = (text: string) => gate.work.runNamed('order', () => orders.debug(text));
    const began = time.now;
    run('old');
    assert.deepEqual({ ...past.reach, bytes: 0 }, { since: began, works: 1, bytes: 0 });
    time.now += 10_000_000;
    run('new');
    tick();
    assert.deepEqual(await messages(), ['new']);
    assert.equal(past.reach.since, time.now - 10_000);
    // Work from before a clock was set back does not stay until it is that late again, nor keep what came after it.
    time.now -= 3_600_000;
    run('after the clock was set back');
    time.now += 5000;
    tick();
    assert.deepEqual(await messages(), ['after the clock was set back']);
    time.now += 6000;
    tick();
    assert.equal(past.reach.works, 0);
    for (let index = 0; index < 1000; index++) {
      time.now += 1;
      run('x'.repeat(500));
    }
    assert.ok(past.reach.bytes <= 65_536 && past.reach.works < 200);
    const { lines } = await read();
    assert.equal(lines.length, past.reach.works);
    assert.ok(past.reach.since! >= Date.parse(lines[0]!.timestamp) - 1);
  });

  it('says on the first line of a work how many calls before it had no room, as each output of it does', async (t) => {
    const { gate, sink, orders, read } = recording(t, { callsPerWork: 3 });
    const cut = (lines: readonly { message: string; attributes?: object | undefined }[]) =>
      lines.map(({ message, attributes = {} }) => [message, fieldOf(attributes, 'rdcp.recorder.cut')]);
    const readers = [0, 1].map(() => {
      const read: Call[] = [];
      const output = { when: { failed: true as const }, write: (_: unknown, call: Call) => void read.push(call) };
      const part = { isWhole: true, level: ANY_LEVEL, isOfTenant: () => true, isOfWork: () => true, output };
      t.after(sink.recorder.record(gate.categories()[0]!, part));
      return read;
    });
    gate.work.runNamed('order', () => {
      for (let call = 1; call <= 5; call++) orders.debug(`call ${call}`);
      gate.work.fail(undefined);
    });
    const expected = [
      ['call 3', 2],
      ['call 4', undefined],
      ['call 5', undefined],
    ];
    const { lines } = await read();
    for (const some of [lines, ...readers]) assert.deepEqual(cut(some), expected);
  });

  it('gives the newest lines within a limit, and counts the others', async (t) => {
    const { gate, orders, read } = recording(t);
    for (let index = 0; index < 100; index++) gate.work.runNamed('order', () => orders.debug(`line ${index}`));
    const { lines, more } = await read({ limit: 3 });
    assert.deepEqual(
      lines.map(({ message }) => message),
      ['line 97', 'line 98', 'line 99'],
    );
    assert.equal(more, 97);
  });
});

describe('the lines of the current work', () => {
  it('are those recorded so far, masked, and none outside of it', (t) => {
    const { gate, orders, cards } = recording(t);
    const lines = () =>
      gate.recordedLines().map(({ category, message, attributes }) => ({ category, message, attributes }));
    assert.deepEqual(lines(), []);
    gate.work.runNamed('order', () => {
      orders.debug('placed', { id: 1 });
      cards.debug('charged', { password: 'hunter2' });
      assert.deepEqual(lines(), [
        { category: 'ORDERS', message: 'placed', attributes: { id: 1 } },
        { category: 'CARDS', message: 'charged', attributes: { password: '[redacted]' } },
      ]);
      gate.work.runNamed('inner', () => assert.deepEqual(lines(), []));
    });
  });

  it('are still there for a reporter that takes longer than the work, and hold no memory for it', async (t) => {
    const { gate, orders } = recording(t);
    const reported = gate.work.runNamed('order', () => {
      orders.debug('placed');
      gate.work.runNamed('payment', () => orders.debug('refused'));
      return { later: AsyncResource.bind(() => gate.recordedLines().map(({ message }) => message)) };
    });
    assert.deepEqual(reported.later(), ['placed', 'refused']);
  });
});

describe('a recorded category', () => {
  it('counts no call, writes none, and has its guards open inside work alone', (t) => {
    const { gate, sink, orders, written } = recording(t);
    assert.equal(orders.enabled, false);
    orders.debug('outside of any work');
    gate.work.runNamed('order', () => {
      assert.equal(orders.enabled, true);
      orders.debug('recorded');
    });
    assert.deepEqual(written, []);
    assert.equal(gate.callsTotal(0), 0);
    assert.deepEqual(sink.recorder.countsOf(0), { written: 0, forgotten: 1, cut: 0 });
  });

  it('leaves guards closed where the owner wants that', (t) => {
    const { gate, orders } = recording(t, { guards: false });
    gate.work.runNamed('order', () => assert.equal(orders.enabled, false));
  });

  it('is written and recorded while it is on, with its attribute function run once', async (t) => {
    const { gate, attachment, orders, written, messages } = recording(t);
    attachment.setBase(0, true);
    let runs = 0;
    gate.work.runNamed('order', () => orders.debug('both', () => ({ runs: ++runs })));
    assert.deepEqual([written, await messages(), runs, gate.callsTotal(0)], [['both'], ['both'], 1, 1]);
  });

  it('keeps what a call was given, whatever the application does with it later', async (t) => {
    const { gate, orders, read } = recording(t);
    gate.work.runNamed('order', () => {
      const order = { id: 1, items: [{ sku: 'a' }] };
      orders.debug('placed', order);
      order.id = 2;
      order.items[0]!.sku = 'b';
      orders.debug('again', order);
    });
    const { lines } = await read();
    assert.deepEqual(
      lines.map(({ attributes: { id, items } }) => ({ id, items })),
      [
        { id: 1, items: [{ sku: 'a' }] },
        { id: 2, items: [{ sku: 'b' }] },
      ],
    );
  });

  it('is harmed by nothing that an application passes', async (t) => {
    const { gate, orders, messages } = recording(t);
    const hostile = [...HOSTILE, revoked()];
    gate.work.runNamed('order', () => {
      for (const [index, given] of hostile.entries()) orders.debug(`call ${index}`, given as never);
    });
    assert.deepEqual(
      await messages(),
      Array.from({ length: hostile.length }, (_, index) => `call ${index}`),
    );
  });
});
