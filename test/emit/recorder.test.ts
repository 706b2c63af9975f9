import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { context, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import type { ActivePart } from '../../src/calls/emit/activations.ts';
import type { RecorderLimits } from '../../src/calls/recorder/types.ts';
import type { DebugRecord } from '../../src/wire/debug-record.ts';
import { followedProcess } from '../recorder/recording.ts';
import { until } from '../support/until.ts';
import { serve } from '../work/following.ts';

context.setGlobalContextManager(new AsyncLocalStorageContextManager());

interface Given {
  readonly limits?: Partial<RecorderLimits>;
  readonly to?: (record: DebugRecord) => void;
}

/** A process whose category `DATABASE` can be recorded. */
function recording(t: TestContext, { limits = {}, to }: Given = {}) {
  const records: DebugRecord[] = [];
  const followed = followedProcess(limits, to ?? ((record) => void records.push(record)));
  const { gate, sink } = followed;
  const database = gate.category('DATABASE');
  const descriptor = gate.categories()[0]!;
  const activate = (part: Partial<ActivePart> = {}) => {
    const end = sink.activate(descriptor, { when: { failed: true }, exhausted: () => {}, ...part });
    t.after(end);
    return end;
  };
  const job = (fail: boolean, calls = 2) =>
    gate.work.runNamed('job', () => {
      for (let index = 1; index <= calls; index++) database.debug(`call ${index}`, { index });
      if (fail) gate.work.fail(new TypeError('secret'));
    });
  return {
    ...{ ...followed, records, database, activate, job },
    messages: () => records.splice(0).map(({ message }) => message),
    /** Messages, each with an attribute. */
    withAttribute: (name: string) => records.map(({ message, attributes }) => [message, attributes[name]]),
    counts: () => sink.recorder.countsOf(0),
  };
}

describe('calls of work that fails', () => {
  it('come out in order with their own time, and say of which work they are', (t) => {
    const { gate, time, database, activate, records, counts } = recording(t);
    activate();
    gate.runWithTenant('acme', () =>
      gate.work.runNamed('job', () => {
        database.debug('one', { password: 'hunter2' });
        time.now += 1500;
        database.debug('two', () => ({ rows: 1 }));
        assert.deepEqual(records, []);
        gate.work.fail(new TypeError('secret'));
      }),
    );
    const of = { 'rdcp.recorded': true, 'rdcp.work.id': '80000001' };
    // The outcome is on the first line of the work.
    const outcome = { 'rdcp.work.outcome': 'job failed after 1.5 s, TypeError' };
    assert.deepEqual(
      records.map(({ timestamp, message, attributes, tenant }) => ({ timestamp, message, attributes, tenant })),
      [
        {
          timestamp: '1970-01-01T00:00:01.000Z',
          message: 'one',
          attributes: { password: '[redacted]', ...of, ...outcome },
          tenant: 'acme',
        },
        { timestamp: '1970-01-01T00:00:02.500Z', message: 'two', attributes: { rows: 1, ...of }, tenant: 'acme' },
      ],
    );
    assert.deepEqual(counts(), { written: 2, forgotten: 0, cut: 0 });
    assert.equal(gate.callsTotal(0), 0);
  });

  it('are in the span that they were made in', (t) => {
    const { activate, gate, database, records } = recording(t);
    activate();
    const [traceId, spanId] = ['1'.repeat(32), '2'.repeat(16)];
    gate.work.runNamed('job', () => {
      const span = trace.wrapSpanContext({ traceId, spanId, traceFlags: 1 });
      context.with(trace.setSpan(context.active(), span), () => database.debug('in the span'));
      database.debug('outside');
      gate.work.fail(undefined);
    });
    assert.deepEqual(
      records.map(({ message, traceId, spanId }) => [message, traceId, spanId]),
      [
        ['in the span', traceId, spanId],
        ['outside', undefined, undefined],
      ],
    );
  });

  it('come out when the span of the work has the status of an error', (t) => {
    const { activate, database, gate, messages } = recording(t);
    activate();
    for (const code of [SpanStatusCode.OK, SpanStatusCode.ERROR]) {
      const span = trace.wrapSpanContext({ traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 1 });
      const active = trace.setSpan(context.active(), Object.assign(span, { status: { code } }));
      context.with(active, () => gate.work.runNamed('job', () => database.debug(SpanStatusCode[code])));
    }
    assert.deepEqual(messages(), ['ERROR']);
  });

  it('of other work, and outside of any, are forgotten', (t) => {
    const { activate, job, messages, database, counts } = recording(t);
    activate();
    job(false);
    database.debug('outside of work');
    assert.equal(database.enabled, false);
    assert.deepEqual(messages(), []);
    assert.deepEqual(counts(), { written: 0, forgotten: 2, cut: 0 });
  });

  it('of work that is only given attributes come out when it throws, and are a part of work around it', async (t) => {
    const { activate, database, gate, messages } = recording(t);
    activate();
    const handle = (fails: boolean) =>
      gate.work.run({ 'user.id': '42' }, async () => {
        database.debug(`fails: ${fails}`);
        await turn();
        if (fails) throw new TypeError('secret');
      });
    await handle(false);
    await assert.rejects(handle(true), TypeError);
    assert.deepEqual(messages(), ['fails: true']);
    // The work around it has caught the error.
    await gate.work.runNamed('job', () => assert.rejects(handle(true), TypeError));
    assert.deepEqual(messages(), []);
  });

  it('are exactly those of the failing requests, without an SDK', async (t) => {
    const { activate, database, records, counts } = recording(t);
    activate();
    const url = await serve(t, async (incoming, response) => {
      const number = Number(incoming.url!.slice(1));
      for (let call = 0; call < 5; call++) {
        database.debug(`${number} ${call}`);
        if (call % 2 === 0) await turn();
      }
      response.statusCode = number % 100 === 0 ? 500 : 200;
      response.end();
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 10 });
    t.after(() => agent.destroy());
    const requests = 1000;
    const ask = (number: number) =>
      new Promise((resolve, reject) =>
        request(`${url}/${number}`, { agent }, (answer) => answer.resume().on('end', resolve))
          .on('error', reject)
          .end(),
      );
    await Promise.all(Array.from({ length: requests }, (_, number) => ask(number)));
    await until('all have ended', () => counts()!.written + counts()!.forgotten === requests * 5);
    const expected = Array.from({ length: requests / 100 }, (_, index) =>
      Array.from({ length: 5 }, (_, call) => `${index * 100} ${call}`),
    ).flat();
    const byRequest = (one: string, other: string) => Number.parseInt(one, 10) - Number.parseInt(other, 10);
    assert.deepEqual(records.map(({ message }) => message).sort(byRequest), expected);
  });
});

it('calls of slow work come out, and of none that is faster', (t) => {
  const { activate, gate, time, database, withAttribute } = recording(t);
  activate({ when: { slowerThan: '2s' } });
  for (const milliseconds of [1999, 2000]) {
    gate.work.runNamed('job', () => {
      database.debug(`${milliseconds}`);
      time.now += milliseconds;
    });
  }
  assert.deepEqual(withAttribute('rdcp.work.outcome'), [['2000', 'job done after 2.0 s']]);
});

it('targets and filters hold for what is recorded', async (t) => {
  const { activate, gate, database, messages } = recording(t);
  activate({ match: { 'user.id': '42' }, filter: { text: 'query*' } });
  await turn();
  await until('the filter is compiled', async () => {
    await turn();
    gate.work.runNamed('job', () => {
      gate.work.run({ 'user.id': '42' }, () => [database.debug('query 1'), database.debug('other')]);
      gate.work.run({ 'user.id': '43' }, () => database.debug('query 2'));
      gate.work.fail(undefined);
    });
    const written = messages();
    if (written.length > 0) assert.deepEqual(written, ['query 1']);
    return written.length > 0;
  });
});

describe('nested work', () => {
  it('that ends well is a part of the work around it', (t) => {
    const { activate, gate, database, job, messages } = recording(t);
    activate();
    gate.work.runNamed('outer', () => {
      database.debug('before');
      job(false);
      database.debug('after');
      gate.work.fail(undefined);
    });
    assert.deepEqual(messages(), ['before', 'call 1', 'call 2', 'after']);
  });

  it('that ends well counts towards the limits of the work around it', (t) => {
    for (const [limits, together] of [
      [{ callsPerWork: 3 }, 1],
      [{ callsPerWork: 3 }, 5],
      [{ bytesPerWork: 3000 }, 1],
    ] as const) {
      const { activate, gate, database, withAttribute } = recording(t, { limits });
      activate();
      const text = 'x'.repeat(900);
      gate.work.runNamed('outer', () => {
        for (let call = 1; call <= 5; call += together) {
          gate.work.runNamed('inner', () => {
            for (let each = call; each < call + together; each++) database.debug(`call ${each}`, { text });
          });
        }
        gate.work.fail(undefined);
      });
      assert.deepEqual(
        withAttribute('rdcp.recorder.cut'),
        [
          ['call 3', 2],
          ['call 4', undefined],
          ['call 5', undefined],
        ],
        `${JSON.stringify(limits)}, ${together} in each`,
      );
    }
  });

  it('that fails comes out alone', (t) => {
    const { activate, gate, database, job, messages } = recording(t);
    activate();
    gate.work.runNamed('outer', () => {
      database.debug('before');
      job(true);
    });
    assert.deepEqual(messages(), ['call 1', 'call 2']);
  });
});

describe('what is kept is bounded', () => {
  for (const isNested of [false, true])
    it(`in bytes of all work: the oldest calls of the longest work go first${isNested ? ', also those of work in it' : ''}`, async (t) => {
      const { activate, gate, database, messages } = recording(t, { limits: { bytes: 65_536, bytesPerWork: 65_536 } });
      activate();
      const ends = [1, 2, 3].map((number) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        const done = gate.work.runNamed('job', async () => {
          for (let call = 0; call < 30; call++) {
            const line = () => database.debug(`${number} ${call}`, { text: 'x'.repeat(950) });
            if (isNested) gate.work.runNamed('inner', line);
            else line();
          }
          await promise;
          gate.work.fail(undefined);
        });
        return { resolve, done };
      });
      for (const { resolve } of ends) resolve();
      await Promise.all(ends.map(({ done }) => done));
      const written = messages();
      assert.ok(written.length <= 65, String(written.length));
      assert.equal(written.filter((message) => message.startsWith('3 ')).length, 30);
      assert.ok(written.filter((message) => message.startsWith('1 ')).length < 10);
    });

  it('in bytes of all work, and a piece of work whose calls are all gone says so later', (t) => {
    const limits = { bytes: 65_536, bytesPerWork: 65_536 };
    const { activate, gate, database, withAttribute } = recording(t, { limits });
    activate();
    const text = 'x'.repeat(2000);
    gate.work.runNamed('long', () => {
      for (let call = 0; call < 10; call++) database.debug('early', { text });
      for (let other = 0; other < 40; other++) {
        void gate.work.runNamed('other', () => {
          database.debug('other', { text });
          return new Promise(() => {});
        });
      }
      database.debug('late');
      gate.work.fail(undefined);
    });
    assert.deepEqual(withAttribute('rdcp.recorder.cut'), [['late', 10]]);
  });

  it('to a number of open pieces of work: 50,000 requests that never end', (t) => {
    const { activate, gate, database, counts } = recording(t, { limits: { works: 100 } });
    activate();
    for (let number = 0; number < 50_000; number++) {
      void gate.work.runNamed('job', () => {
        database.debug('call');
        return new Promise(() => {});
      });
    }
    assert.deepEqual(counts(), { written: 0, forgotten: 0, cut: 49_900 });
  });

  it('in time: failed work that does not end comes out, old calls of other work are dropped', (t) => {
    const { activate, gate, database, time, tick, messages, counts } = recording(t, { limits: { seconds: 60 } });
    activate();
    const hang = (fail: boolean) =>
      void gate.work.runNamed('job', () => {
        database.debug(`failed: ${fail}`);
        if (fail) gate.work.fail(undefined);
        return new Promise(() => {});
      });
    hang(true);
    hang(false);
    time.now += 60_000;
    tick();
    assert.deepEqual(messages(), []);
    time.now += 1;
    tick();
    assert.deepEqual(messages(), ['failed: true']);
    assert.deepEqual(counts(), { written: 1, forgotten: 0, cut: 1 });
  });

  it('by a budget that leaves out whole pieces of work', (t) => {
    const { activate, job, messages, counts } = recording(t);
    activate({ budget: { callsPerSecond: 2 } });
    for (let number = 0; number < 4; number++) job(true, 3);
    assert.equal(messages().length, 6);
    assert.deepEqual(counts(), { written: 6, forgotten: 0, cut: 6 });
  });
});

describe('bad luck', () => {
  it('an output that throws affects neither the work nor the other calls', (t) => {
    const written: string[] = [];
    const { activate, job, counts } = recording(t, {
      to: ({ message }) => {
        if (message === 'call 1') throw new Error('full');
        written.push(message);
      },
    });
    activate();
    job(true);
    assert.deepEqual(written, ['call 2']);
    assert.deepEqual(counts(), { written: 1, forgotten: 0, cut: 1 });
  });

  it('work that fails twice comes out once', (t) => {
    const { activate, gate, database, messages } = recording(t);
    activate();
    gate.work.runNamed('job', () => {
      database.debug('call');
      gate.work.fail(new Error());
      gate.work.fail(new Error());
    });
    assert.deepEqual(messages(), ['call']);
  });

  it('a call whose async context was lost is not recorded, and one in the context of other work belongs to that', (t) => {
    const { activate, gate, database, messages, counts } = recording(t);
    activate();
    /** As a pool of connections calls back: whenever it likes, in whatever context. */
    const callbacks: (() => void)[] = [];
    const query = (name: string) => callbacks.push(() => database.debug(`done: ${name}`));
    const callBack = () => callbacks.shift()!();
    gate.work.runNamed('failing', () => {
      database.debug('failing');
      query('failing');
      gate.work.fail(undefined);
    });
    callBack();
    gate.work.runNamed('other', () => query('other'));
    gate.work.runNamed('failing too', () => {
      callBack();
      gate.work.fail(undefined);
    });
    assert.deepEqual(messages(), ['failing', 'done: other']);
    assert.deepEqual(counts(), { written: 2, forgotten: 0, cut: 0 });
  });

  it('open work comes out when the process ends', (t) => {
    const { activate, gate, database, host, withAttribute } = recording(t);
    activate();
    gate.work.runNamed('job', () => {
      database.debug('call');
      host.emit('exit', 1);
    });
    const outcome = 'job interrupted by the end of the process after 0 ms';
    assert.deepEqual(withAttribute('rdcp.work.outcome'), [['call', outcome]]);
  });

  it('what is recorded for an activation that ends is forgotten, and nothing is followed any more', (t) => {
    const { activate, gate, database, job, messages, counts, host } = recording(t);
    const end = activate();
    gate.work.runNamed('outer', () => {
      database.debug('call');
      end();
      gate.work.fail(undefined);
    });
    job(true);
    assert.deepEqual(messages(), []);
    assert.deepEqual(counts(), { written: 0, forgotten: 1, cut: 0 });
    assert.deepEqual(host.eventNames(), []);
    assert.equal(gate.work.observer, undefined);
  });
});
