import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Context, propagation, ROOT_CONTEXT, SpanKind, TraceFlags, trace } from '@opentelemetry/api';
import { samplerFrom } from '../../src/assembly/register/sampler.ts';
import { RECORD_AND_SAMPLED } from '../../src/calls/emit/sampler.ts';
import { inFull } from '../support/tiers.ts';
import { openReceiver } from './otlp-receiver.ts';
import { API, start } from './running.ts';

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

describe('under register with OTEL_TRACES_SAMPLER=always_off', () => {
  inFull('exports the spans of a category that is on, and no others', async (t) => {
    const receiver = await openReceiver(t);
    const run = await start(t, {
      env: {
        RDCP_SERVER_API_KEY: 'k'.repeat(40),
        ...receiver.env,
        OTEL_TRACES_SAMPLER: 'always_off',
        OTEL_BSP_SCHEDULE_DELAY: '600000',
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
  });
});

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
