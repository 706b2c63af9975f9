// In a process of its own: it installs global providers of OpenTelemetry.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, beforeEach, describe, it } from 'node:test';
import { context, ProxyTracerProvider, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { CategoryDescriptor } from '../../src/gate/types.ts';
import { createTelemetry } from '../../src/otel/telemetry.ts';
import { sinkOf } from '../support/sink.ts';

const PAYMENTS: CategoryDescriptor = { index: 0, name: 'PAYMENTS', description: '', defaultEnabled: false };

/** What makes an object a thenable, such as the query of a query builder. */
const THEN = 'then';

context.setGlobalContextManager(new AsyncLocalStorageContextManager());
const exporter = new InMemorySpanExporter();
trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
const sink = sinkOf({ writeLine() {} });

const ended = () => exporter.getFinishedSpans();

describe('a span of a category', () => {
  beforeEach(() => exporter.reset());
  after(() => trace.disable());

  it('is active while the function runs, has its name and category, and ends with it', () => {
    const result = sink.span(PAYMENTS, 'charge', (span) => {
      span?.setAttribute('order', 42);
      assert.equal(trace.getActiveSpan(), span);
      assert.equal(ended().length, 0);
      return 'charged';
    });
    assert.equal(result, 'charged');
    const [span] = ended();
    assert.equal(span?.name, 'charge');
    assert.deepEqual(span?.attributes, { 'rdcp.category.name': 'PAYMENTS', order: 42 });
    assert.equal(span?.status.code, SpanStatusCode.UNSET);
  });

  it('passes on what the function throws, as the same value, and records it', () => {
    const problem = new TypeError('no such card');
    for (const thrown of [problem, undefined]) {
      const throwing = () =>
        sink.span(PAYMENTS, 'charge', () => {
          throw thrown;
        });
      assert.throws(throwing, (error) => error === thrown);
    }
    const [span, other] = ended();
    assert.deepEqual(span?.status, { code: SpanStatusCode.ERROR, message: 'no such card' });
    assert.equal(span?.events[0]?.name, 'exception');
    assert.equal(other?.status.code, SpanStatusCode.ERROR);
  });

  it('records no credential of an exception, in its message, its stack or the status', () => {
    const problems = [
      Object.assign(new TypeError('postgres://app:hunter2@db is away'), { code: 'E_AWAY' }),
      'refused: Bearer hunter2hunter2',
    ];
    for (const problem of problems) {
      const throwing = () =>
        sink.span(PAYMENTS, 'charge', () => {
          throw problem;
        });
      assert.throws(throwing, (error) => error === problem);
    }
    const recorded = ended().map(({ status, events }) => [status, events.map(({ attributes }) => attributes)]);
    assert.doesNotMatch(JSON.stringify(recorded), /hunter2/);
    const [first] = ended();
    assert.equal(first?.status.message, 'postgres://[redacted]@db is away');
    const { 'exception.type': type, 'exception.stacktrace': stack } = first?.events[0]?.attributes ?? {};
    assert.equal(type, 'E_AWAY');
    assert.match(String(stack), /^TypeError: postgres:\/\/\[redacted\]@db is away\n {4}at /);
  });

  it('ends when the promise settles, and gives its value or its error', async () => {
    for (const problem of [undefined, new Error('declined')]) {
      exporter.reset();
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      const result = sink.span(PAYMENTS, 'charge', () => promise);
      assert.equal(ended().length, 0);
      if (problem === undefined) resolve('charged');
      else reject(problem);
      assert.equal(await result.catch((error) => error), problem ?? 'charged');
      const codes = ended().map(({ status }) => status.code);
      assert.deepEqual(codes, [problem === undefined ? SpanStatusCode.UNSET : SpanStatusCode.ERROR]);
    }
  });

  it('reports what nobody handles of a plain promise, adds no report, and gives back other promises as they are', () => {
    const source = JSON.stringify(new URL('../../src/gate/settling.ts', import.meta.url).href);
    const script = `
      const { endWhenSettled } = await import(${source});
      if (hooked) (await import('node:async_hooks')).createHook({ init() {} }).enable();
      class Query extends Promise {}
      const kinds = {
        plain: (error) => Promise.reject(error),
        async: async (error) => { throw error; },
        decorated: (error) => Object.assign(Promise.reject(error), { kill() {} }),
        subclass: (error) => Query.reject(error),
        thenable: (error) => ({ then: (_, reject) => queueMicrotask(() => reject(error)) }),
      };
      const reported = [];
      process.on('unhandledRejection', ({ message }) => reported.push(message));
      const same = new Set();
      for (const [kind, make] of Object.entries(kinds)) {
        for (const how of ['handled', 'not handled']) {
          const made = make(new Error(kind + ' ' + how));
          const result = endWhenSettled(() => made, { succeeded() {}, failed() {} });
          if (how === 'handled') (async () => result)().catch(() => {});
          if (result === made) same.add(kind);
        }
      }
      setImmediate(() => console.log(JSON.stringify({ reported, same: [...same] })));`;
    for (const hooked of [false, true]) {
      const child = spawnSync(process.execPath, ['--input-type=module', '-e', `const hooked = ${hooked};${script}`], {
        encoding: 'utf8',
        timeout: 20_000,
      });
      assert.deepEqual(
        JSON.parse(child.stdout || child.stderr),
        // Others cannot be observed without counting as handled.
        { reported: ['plain not handled', 'async not handled'], same: ['decorated', 'subclass', 'thenable'] },
        hooked ? 'with async hooks' : 'without async hooks',
      );
    }
  });

  it('runs a lazy thenable once, when the application awaits it, and ends then', async () => {
    let runs = 0;
    const query = {
      where: () => query,
      [THEN](resolve: (rows: string) => unknown) {
        runs += 1;
        setImmediate(resolve, 'rows');
      },
    };
    const result = sink.span(PAYMENTS, 'select', () => query);
    assert.equal(result, query);
    assert.equal(runs, 0);
    assert.equal(ended().length, 0);
    assert.equal(await result.where(), 'rows');
    assert.equal(runs, 1);
    assert.equal(ended().length, 1);
  });

  it('ends at once around a thenable that cannot be listened to, and a value that cannot be asked whether it is one', () => {
    const frozen = Object.freeze({ [THEN]() {} });
    const hostile = Object.defineProperty({}, THEN, {
      get() {
        throw new Error('its own');
      },
    });
    for (const [at, value] of [frozen, hostile].entries()) {
      const result: unknown = sink.span(PAYMENTS, 'select', () => value);
      assert.deepEqual([result === value, ended().length], [true, at + 1]);
    }
  });

  it('ends once, however often a thenable is asked, and by its failure, too', async () => {
    const rows = {
      [THEN]: (resolve: (rows: string) => unknown) => resolve('rows'),
    };
    const result = sink.span(PAYMENTS, 'select', () => rows) as unknown as {
      then(done?: (rows: string) => unknown, failed?: (error: unknown) => unknown): unknown;
    };
    assert.equal(result.then(), 'rows', 'without a listener');
    assert.equal(await result, 'rows');
    assert.equal(ended().length, 1);
    const broken = {
      [THEN]: (_resolve: unknown, reject: (error: unknown) => unknown) => reject(new Error('no rows')),
    };
    const failing = sink.span(PAYMENTS, 'select', () => broken) as unknown as typeof result;
    assert.throws(() => failing.then(), /no rows/);
    await assert.rejects(async () => await failing, /no rows/);
    assert.deepEqual(
      ended().map(({ status }) => status.message),
      [undefined, 'no rows'],
    );
  });

  it('ends with a promise with methods of its own, which is given back as it is', async () => {
    class Query extends Promise<string> {}
    const broken = Object.assign(Promise.reject(new Error('no rows')), { kill() {} });
    for (const query of [Query.resolve('rows'), broken]) {
      const result: unknown = sink.span(PAYMENTS, 'select', () => query);
      assert.equal(result, query);
      await query.catch(() => {});
    }
    assert.deepEqual(
      ended().map(({ status }) => status.message),
      [undefined, 'no rows'],
    );
  });

  it('that cannot be ended keeps its error from the application', () => {
    const broken = () => {
      throw new Error('cannot end');
    };
    const tracer = trace.getTracer('real');
    const startSpan: Tracer['startSpan'] = (...args) => Object.assign(tracer.startSpan(...args), { end: broken });
    const telemetry = Object.defineProperty(createTelemetry(), 'tracer', { value: { startSpan } });
    const quiet = sinkOf({ telemetry, writeLine() {} });
    assert.equal(
      quiet.span(PAYMENTS, 'charge', () => 'charged'),
      'charged',
    );
  });

  it('runs the function once and bare when the tracer throws', () => {
    const broken: Tracer = {
      startSpan() {
        throw new Error('tracer is broken');
      },
      startActiveSpan() {
        throw new Error('tracer is broken');
      },
    };
    const telemetry = Object.defineProperty(createTelemetry(), 'tracer', { value: broken });
    const bare = sinkOf({ telemetry, writeLine() {} });
    let runs = 0;
    assert.equal(
      bare.span(PAYMENTS, 'charge', (span) => {
        runs += 1;
        return span;
      }),
      undefined,
    );
    assert.equal(runs, 1);
  });

  it('goes to a tracer provider that is registered later, by another copy of the API too', () => {
    trace.disable();
    const late = sinkOf({ writeLine() {} });
    late.span(PAYMENTS, 'before', () => {});
    // Another copy of the API registers a stand-in of its own, which knows nothing of ours.
    const standIn = new ProxyTracerProvider();
    const own = new InMemorySpanExporter();
    standIn.setDelegate(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: own })] }));
    const registries = globalThis as { [key: symbol]: Record<string, unknown> };
    const registry = registries[Symbol.for('opentelemetry.js.api.1')];
    assert.ok(registry);
    registry.trace = standIn;
    late.span(PAYMENTS, 'after', () => {});
    assert.deepEqual(
      own.getFinishedSpans().map(({ name }) => name),
      ['after'],
    );
  });
});
