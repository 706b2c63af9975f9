import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Context, propagation, ROOT_CONTEXT, SpanKind, TraceFlags, trace } from '@opentelemetry/api';
import { mergeExpositions } from '../../src/assembly/register/prometheus.ts';
import { samplerFrom } from '../../src/assembly/register/sdk.ts';
import { RECORD_AND_SAMPLED } from '../../src/calls/emit/sampler.ts';
import { inFull } from '../support/tiers.ts';
import { until } from '../support/until.ts';
import { openReceiver } from './otlp-receiver.ts';
import { API, announced, DEBUG_IN_A_SPAN, KEY, start } from './running.ts';

describe('under register', () => {
  it('log records of a scope below INFO are exported while its category is on', async (t) => {
    const receiver = await openReceiver(t);
    const run = await start(t, {
      env: { RDCP_SERVER_API_KEY: KEY, ...receiver.env },
      config: { categories: { OTEL_ORDERS: { enabled: true } } },
      app: `
        import { logs } from '${API}';
        for (const scope of ['orders', 'payments']) {
          const logger = logs.getLogger(scope);
          for (const severityNumber of [5, 9]) {
            console.log(scope, severityNumber, logger.enabled({ severityNumber }));
            logger.emit({ severityNumber, body: scope });
          }
        }`,
    });
    assert.deepEqual(await run.closed, [0, null], run.output.stderr);
    assert.equal(run.output.stdout, 'orders 5 true\norders 9 true\npayments 5 false\npayments 9 true\n');
    assert.deepEqual([receiver.ofSeverity(5), receiver.ofSeverity(9)], [1, 2]);
  });

  it("a control's record has the caller's trace, its scope a schema, and debug records the resource's id", async (t) => {
    const receiver = await openReceiver(t);
    const run = await start(t, {
      env: {
        RDCP_SERVER_API_KEY: KEY,
        ...receiver.env,
        OTEL_BLRP_SCHEDULE_DELAY: '10',
        OTEL_RESOURCE_ATTRIBUTES: 'service.instance.id=pod-1',
      },
      app: DEBUG_IN_A_SPAN,
    });
    const { url } = await announced(run);
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const response = await fetch(`${url}/rdcp/v1/control`, {
      method: 'POST',
      headers: {
        'X-RDCP-API-Key': KEY,
        'Content-Type': 'application/json',
        traceparent: `00-${traceId}-b7ad6b7169203331-01`,
      },
      body: JSON.stringify({ action: 'enable', categories: ['PAYMENTS'] }),
    });
    assert.equal(response.status, 200);
    const received = (severity: number) => receiver.records().find(({ severityNumber }) => severityNumber === severity);
    const audit = await until('the audit record', () => received(9));
    assert.equal(audit.traceId, traceId);
    assert.equal(audit.time, Date.parse(String(audit.attributes['rdcp.audit.timestamp'])));
    assert.match(audit.scope.schemaUrl ?? '', /^https:\/\/opentelemetry\.io\/schemas\/1\.\d+\.0$/);
    assert.match(audit.scope.version ?? '', /^\d/);
    const line = await until('a debug record', () => received(5));
    assert.notEqual(line.traceId, traceId);
    for (const { attributes } of [audit, line]) assert.equal(attributes['rdcp.instance.id'], 'pod-1');
  });

  inFull('log records pass as they did with adopt.otel false', async (t) => {
    const receiver = await openReceiver(t);
    const run = await start(t, {
      env: { RDCP_SERVER_API_KEY: KEY, ...receiver.env },
      config: { adopt: { otel: false } },
      app: `import { logs } from '${API}'; logs.getLogger('orders').emit({ severityNumber: 5 });`,
    });
    assert.deepEqual(await run.closed, [0, null], run.output.stderr);
    assert.equal(receiver.ofSeverity(5), 1);
  });

  inFull("OpenTelemetry's diagnostics are exported without feeding themselves", async (t) => {
    const receiver = await openReceiver(t);
    const run = await start(t, {
      env: { RDCP_SERVER_API_KEY: KEY, ...receiver.env, OTEL_BLRP_SCHEDULE_DELAY: '10' },
      config: { categories: { OTEL_DIAG: { enabled: true } } },
      app: `
        import { diag } from '${API}';
        diag.debug('said by the application');
        setTimeout(() => {}, 500);`,
    });
    assert.deepEqual(await run.closed, [0, null], run.output.stderr);
    const said = receiver.records().filter(({ attributes }) => attributes['rdcp.category.name'] === 'OTEL_DIAG');
    assert.ok(said.length >= 1 && said.length < 20, `${said.length} records`);
  });
});

const TRACE = '12345678123456781234567812345678';

describe('the sampler of OTEL_TRACES_SAMPLER', () => {
  const sampler = (name?: string, argument?: string) =>
    samplerFrom({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: argument }).toString();

  for (const [name, argument, expected] of [
    [undefined, undefined, /^GateSampler\{ParentBased\{root=AlwaysOnSampler, /],
    ['always_on', undefined, /^GateSampler\{AlwaysOnSampler\}$/],
    ['always_off', undefined, /^GateSampler\{AlwaysOffSampler\}$/],
    ['traceidratio', '0.25', /^GateSampler\{TraceIdRatioBased\{0\.25\}\}$/],
    ['parentbased_always_on', undefined, /^GateSampler\{ParentBased\{root=AlwaysOnSampler, /],
    ['parentbased_always_off', undefined, /^GateSampler\{ParentBased\{root=AlwaysOffSampler, /],
    ['traceidratio', undefined, /^GateSampler\{TraceIdRatioBased\{1\}\}$/],
    ['parentbased_traceidratio', '0', /^GateSampler\{ParentBased\{root=TraceIdRatioBased\{0\}, /],
  ] as const) {
    it(`is kept for ${name ?? 'no name'} and ${argument ?? 'no argument'}`, () =>
      assert.match(sampler(name, argument), expected));
  }
});

inFull(
  'under register with OTEL_TRACES_SAMPLER=always_off exports the spans of a category that is on, and no others',
  async (t) => {
    const receiver = await openReceiver(t);
    const run = await start(t, {
      env: {
        ...{ RDCP_SERVER_API_KEY: KEY, ...receiver.env },
        ...{ OTEL_TRACES_SAMPLER: 'always_off', OTEL_BSP_SCHEDULE_DELAY: '600000' },
      },
      app: `
      import { trace } from '${API}';
      trace.getTracer('contrib').startActiveSpan('GET', (span) => {
        category('PAYMENTS', { enabled: true }).span('charge', () => {});
        category('ORDERS').span('place', () => {});
        span.end();
      });`,
    });
    assert.deepEqual(await run.closed, [0, null], run.output.stderr);
    assert.deepEqual(receiver.spans(), ['charge']);
  },
);

describe('the sampler of a service whose owner lets tickets sample traces', () => {
  const sampler = samplerFrom({ OTEL_TRACES_SAMPLER: 'parentbased_always_off' }, (value) => value === 'valid');
  const from = (isRemote: boolean, traceFlags: TraceFlags) =>
    trace.setSpanContext(ROOT_CONTEXT, { traceId: TRACE, spanId: '1234567812345678', isRemote, traceFlags });
  const carrying = (context: Context, value: string) =>
    propagation.setBaggage(context, propagation.createBaggage({ 'rdcp.debug': { value } }));
  const isSampled = (context: Context) =>
    sampler.shouldSample(context, TRACE, 'GET', SpanKind.SERVER, {}, []).decision === RECORD_AND_SAMPLED;

  it('samples from the first span on that has a valid ticket', () => {
    assert.equal(isSampled(carrying(ROOT_CONTEXT, 'valid')), true);
    assert.equal(isSampled(carrying(from(true, TraceFlags.NONE), 'valid')), true);
    assert.equal(isSampled(carrying(from(false, TraceFlags.SAMPLED), 'valid')), true);
  });

  it('leaves other traces, and spans in a trace that this process does not sample', () => {
    assert.equal(isSampled(ROOT_CONTEXT), false);
    assert.equal(isSampled(carrying(ROOT_CONTEXT, 'forged')), false);
    assert.equal(isSampled(carrying(from(true, TraceFlags.NONE), 'forged')), false);
    assert.equal(isSampled(carrying(from(false, TraceFlags.NONE), 'valid')), false);
  });
});

it('the samples of a metric stay together, each with the label of its process', () => {
  const one =
    '# HELP calls of it\n# TYPE calls counter\ncalls{name="A{}"} 1\ncalls{name="B"} 2\n\n# HELP up is it\nup 1\n';
  const other = '# HELP calls of it\n# TYPE calls counter\ncalls{name="A{}"} 3 1700000000\nplain{} 7\n';
  const merged = mergeExpositions(
    new Map([
      [11, one],
      [12, other],
    ]),
  );
  assert.equal(
    merged,
    [
      '# HELP calls of it',
      '# TYPE calls counter',
      'calls{process_pid="11",name="A{}"} 1',
      'calls{process_pid="11",name="B"} 2',
      'calls{process_pid="12",name="A{}"} 3 1700000000',
      'plain{process_pid="12"} 7',
      '',
      '# HELP up is it',
      'up{process_pid="11"} 1',
      '',
    ].join('\n'),
  );
});

it('a sample that has the label of a process is left as it is', () => {
  const text = 'target_info{a="1",process_pid="5"} 1\n';
  assert.equal(mergeExpositions(new Map([[9, text]])), text);
});

it('comments without a name and samples whose name is quoted lose nothing', () => {
  const merged = mergeExpositions(
    new Map([
      [1, '# hello\nup 1\n'],
      [2, '# hello\nup 2\n{"a.b"} 3\n'],
    ]),
  );
  assert.equal(
    merged,
    ['# hello', 'up{process_pid="1"} 1', 'up{process_pid="2"} 2', '{process_pid="2","a.b"} 3', ''].join('\n'),
  );
});
