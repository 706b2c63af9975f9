import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { it } from 'node:test';
import { Budget } from '../../src/calls/emit/budget.ts';
import type { SinkOptions } from '../../src/calls/emit/sink.ts';
import { WorkFollower } from '../../src/calls/work/match.ts';
import { GateCore } from '../../src/gate/core.ts';
import { Work } from '../../src/gate/work.ts';
import { ATTR_TENANT_ID } from '../../src/otel/semconv.ts';
import { createTelemetry, type LogRecord } from '../../src/otel/telemetry.ts';
import type { DebugRecord } from '../../src/wire/debug-record.ts';
import { RecordingController } from '../gate/controllers.ts';
import fc from '../support/fast-check.ts';
import { sinkOf } from '../support/sink.ts';
import { inBoth, runs } from '../support/tiers.ts';

/** A process whose category `DATABASE` can be on, on for a part, or recorded. */
function counting({ to, budget }: Pick<SinkOptions, 'to'> & { readonly budget?: { bytes: number } }) {
  const lines: string[] = [];
  const exported: LogRecord[] = [];
  const records: DebugRecord[] = [];
  const gate = new GateCore();
  const logger = { emit: (record: LogRecord) => void exported.push(record) };
  const follower = new WorkFollower(gate.work);
  const sink = sinkOf({
    telemetry: Object.defineProperty(createTelemetry(), 'logger', { value: logger }),
    to: to ?? ((record) => records.push(record)),
    instanceId: () => 'shop-1',
    writeLine: (line, done) => {
      lines.push(line);
      done?.();
    },
    budget: { each: { callsPerSecond: 1e6, burst: 1e6, bytesPerSecond: 1e9 }, categories: {}, process: false },
    selection: { clock: { monotonic: () => 0 }, instanceId: 'shop-1', work: follower, random: () => 0.5 },
  });
  const attachment = gate.attach(new RecordingController(4096, sink));
  const database = gate.category('DATABASE');
  const descriptor = gate.categories()[0]!;
  const states = {
    on: () => {
      attachment.setBase(0, true);
      return () => attachment.setBase(0, false);
    },
    'on for a part': () => sink.activate(descriptor, { exhausted: () => {} }),
    recorded: () => sink.activate(descriptor, { when: { failed: true }, budget, exhausted: () => {} }),
  };
  return {
    gate,
    database,
    states,
    lines: () => lines.splice(0),
    exported: () => exported.splice(0),
    records: () => records.splice(0),
    close: () => sink.close(),
  };
}

/** Runs `fn` as an HTTP request that fails with an error. */
function failingRequest(gate: GateCore, request: { method: string; target: string }, error: unknown, fn: () => void) {
  AsyncLocalStorage.snapshot()(() => {
    const served = { ...request, address: undefined, route: undefined, header: () => undefined };
    const work = gate.work.begin(new Work(undefined, served));
    const followed = gate.work.observer?.began(work);
    fn();
    gate.work.fail(error);
    followed?.answered(500);
  });
}

const sizeOf = (value: unknown) => Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value));

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.string({ minLength: 2000, maxLength: 12_000 }),
);

/** Everything that another one chooses, and that ends up in an attribute of ours. */
const chosen = fc.record({
  state: fc.constantFrom('on' as const, 'on for a part' as const, 'recorded' as const),
  output: fc.constantFrom('otel' as const, 'stderr' as const, 'json' as const),
  tenant: fc.option(text),
  method: text,
  target: text,
  errorName: text,
  given: fc.oneof(
    fc.constant(undefined),
    fc.record({ thrown: text }),
    fc.record({
      name: fc.string({ minLength: 300, maxLength: 400 }),
      long: fc.string({ minLength: 9000, maxLength: 9500 }),
    }),
  ),
});

inBoth(
  'each byte of the attributes that are ours is counted by the budget, and of a line that we write each byte',
  (t) => {
    let counted = 0;
    t.mock.method(Budget.prototype, 'spend', (bytes: number) => {
      counted += bytes;
    });
    fc.assert(
      fc.property(chosen, ({ state, output, tenant, method, target, errorName, given }) => {
        const { gate, database, states, lines, exported, close } = counting({ to: output });
        counted = 0;
        const end = states[state]();
        const attributes =
          given === undefined || 'name' in given
            ? given && { [given.name]: given.long }
            : () => {
                throw Object.assign(new Error(given.thrown), { name: given.thrown });
              };
        const error = Object.assign(new Error(), { name: errorName });
        const call = () => database.debug('m', attributes);
        failingRequest(gate, { method, target }, error, () =>
          tenant === null ? call() : gate.runWithTenant(tenant, call),
        );
        end();
        close();
        const written = lines();
        const sent = exported().map(({ body, attributes: { ...all } }) => {
          if (given !== undefined && 'name' in given) assert.ok(Array.isArray(all['rdcp.attributes.truncated']));
          if (state === 'recorded') assert.ok(String(all['rdcp.work.outcome']).length <= 256);
          assert.ok(String(all[ATTR_TENANT_ID] ?? '').length <= 255);
          return Object.entries(all).reduce((sum, [name, value]) => sum + sizeOf(name) + sizeOf(value), sizeOf(body));
        });
        assert.equal(written.length + sent.length, 1);
        const actual = output === 'otel' ? sent[0]! : Buffer.byteLength(written[0]!) + 1;
        if (output === 'otel') assert.ok(counted >= actual, `${counted} counted of ${actual}`);
        else assert.equal(counted, actual);
      }),
      { numRuns: runs(1000), endOnFailure: true },
    );
  },
);

it('what clients send makes no line longer than the budget of failed work allows', (t) => {
  const budget = { bytes: 200_000 };
  const { gate, database, states, records, close } = counting({ budget });
  t.after(close);
  const end = states.recorded();
  for (let number = 0; number < 40; number++) {
    failingRequest(gate, { method: 'GET', target: `/${'p'.repeat(12_000)}?token=hunter2` }, undefined, () => {
      for (let call = 0; call < 50; call++) database.debug('m', { call });
    });
  }
  end();
  const written = records();
  const bytes = written.reduce((sum, record) => sum + Buffer.byteLength(JSON.stringify(record)), 0);
  assert.ok(written.length >= 200 && bytes < 2 * budget.bytes, `${written.length} lines, ${bytes} bytes`);
  assert.match(String(written[0]!.attributes['rdcp.work.outcome']), /^GET \/p{200,}… 500 after \d+ ms$/);
});
