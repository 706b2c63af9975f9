import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createNoopMeter, type Meter } from '@opentelemetry/api';
import { createInstruments } from '../../src/calls/metrics/instruments.ts';
import type { CategoryDescriptor } from '../../src/gate/types.ts';
import { createPrometheus, samples } from './scrape.ts';

const CATEGORIES: CategoryDescriptor[] = ['PAYMENTS', 'CACHE'].map((name, index) => ({
  index,
  name,
  description: '',
  defaultEnabled: false,
}));

/** Instruments over slots that the test sets, on a meter that it may replace. */
function bench(meter: Meter) {
  const state = {
    meter,
    calls: [0, 0],
    dropped: [0, 0],
    enabled: [false, false],
    settings: [] as { temporary: number; permanent: number }[],
    temporary: { global: 0, tenants: 0 },
    kept: undefined as { bytes: number; seconds: number } | undefined,
    categories: [...CATEGORIES],
    tick: () => {},
  };
  /** All of them were calls inside calls. */
  const droppedTotal = (index: number, reason = 'nested') => (reason === 'nested' ? (state.dropped[index] ?? 0) : 0);
  const instruments = createInstruments({
    telemetry: {
      get meter() {
        return state.meter;
      },
    },
    gate: { categories: () => state.categories, droppedTotal },
    measurements: {
      callsTotal: (index) => state.calls[index] ?? 0,
      callsPerSecond: (index) => (state.calls[index] ?? 0) / 60,
    },
    schedule: (_milliseconds, task) => {
      state.tick = task;
      return () => {
        state.tick = () => {};
      };
    },
  });
  instruments.observe({
    states: () =>
      state.categories.map(({ index }) => ({
        index,
        enabled: state.enabled[index] ?? false,
        ...(state.settings[index] && { tenants: state.settings[index] }),
      })),
    temporaryControls: () => state.temporary,
    kept: () => state.kept,
  });
  return { state, instruments };
}

/** The same on a meter that is scraped. */
function scraped() {
  const { provider, scrape } = createPrometheus();
  return { ...bench(provider.getMeter('rdcp')), scrape };
}

describe('instruments', () => {
  it('scrape what the slots hold, under the names that dashboards use', async () => {
    const { state, scrape } = scraped();
    state.calls = [120, 0];
    state.dropped = [3, 0];
    state.enabled = [true, false];
    state.temporary = { global: 2, tenants: 0 };
    const text = await scrape();
    assert.deepEqual(samples(text, 'rdcp_debug_calls_total', 'rdcp_category_name'), { PAYMENTS: 120, CACHE: 0 });
    assert.deepEqual(samples(text, 'rdcp_debug_call_rate', 'rdcp_category_name'), { PAYMENTS: 2 });
    assert.deepEqual(samples(text, 'rdcp_debug_dropped_total', 'rdcp_category_name'), { PAYMENTS: 3 });
    assert.match(text, /^# UNIT rdcp_category_enabled 1$/m);
    assert.match(text, /^rdcp_debug_dropped_total\{[^}]*rdcp_reason="nested"[^}]*\} 3$/m);
    assert.deepEqual(samples(text, 'rdcp_category_enabled', 'rdcp_category_name'), { PAYMENTS: 1, CACHE: 0 });
    assert.deepEqual(samples(text, 'rdcp_control_temporary', 'rdcp_scope'), { global: 2 });
    state.calls = [121, 5];
    assert.deepEqual(samples(await scrape(), 'rdcp_debug_calls_total', 'rdcp_category_name'), {
      PAYMENTS: 121,
      CACHE: 5,
    });
  });

  it('show the tenants as one series, from the first control of theirs on', async () => {
    const { state, scrape } = scraped();
    state.temporary = { global: 1, tenants: 3 };
    assert.deepEqual(samples(await scrape(), 'rdcp_control_temporary', 'rdcp_scope'), { global: 1, tenant: 3 });
    state.temporary = { global: 1, tenants: 0 };
    assert.deepEqual(samples(await scrape(), 'rdcp_control_temporary', 'rdcp_scope'), { global: 1, tenant: 0 });
  });

  it('show how many tenants have a category on by a setting of their own, from the first one on', async () => {
    const { state, scrape } = scraped();
    assert.doesNotMatch(await scrape(), /rdcp_category_settings\{/);
    state.settings = [{ temporary: 2, permanent: 1 }];
    const shown = samples(await scrape(), 'rdcp_category_settings', 'rdcp_setting');
    assert.deepEqual(shown, { temporary: 2, permanent: 1 });
    state.settings = [];
    const ended = await scrape();
    assert.deepEqual(samples(ended, 'rdcp_category_settings', 'rdcp_setting'), { temporary: 0, permanent: 0 });
    assert.deepEqual(samples(ended, 'rdcp_category_settings', 'rdcp_category_name'), { PAYMENTS: 0 });
  });

  it('show how much is recorded and how far back it reaches, while anything is kept', async () => {
    const { state, scrape } = scraped();
    assert.doesNotMatch(await scrape(), /^rdcp_recorder_(?:memory_used|reach)\{/m);
    state.kept = { bytes: 4096, seconds: 41.5 };
    const text = await scrape();
    assert.match(text, /^rdcp_recorder_memory_used\{[^}]*\} 4096$/m);
    assert.match(text, /^rdcp_recorder_reach\{[^}]*\} 41\.5$/m);
  });

  it('show a category that is registered after them', async () => {
    const { state, scrape } = scraped();
    await scrape();
    state.categories.push({ index: 2, name: 'LATE', description: '', defaultEnabled: false });
    state.calls[2] = 9;
    assert.equal(samples(await scrape(), 'rdcp_debug_calls_total', 'rdcp_category_name').LATE, 9);
  });

  it('count control requests, refused credentials and failed audit writes, and time the former from 1 ms to 10 s', async () => {
    const { instruments, scrape } = scraped();
    instruments.controlRequest('enable', 'success', 0.004);
    instruments.controlRequest('enable', 'success', 0.2);
    instruments.controlRequest('disable', 'failed', 30);
    instruments.authFailure('api-key', 'invalid_key');
    instruments.auditFailure();
    instruments.notification('success');
    instruments.notification('failed', 'queue_full');
    const text = await scrape();
    assert.deepEqual(samples(text, 'rdcp_control_requests_total', 'rdcp_outcome'), { success: 2, failed: 1 });
    assert.deepEqual(samples(text, 'rdcp_auth_failures_total', 'rdcp_reason'), { invalid_key: 1 });
    assert.deepEqual(samples(text, 'rdcp_notifications_total', 'rdcp_outcome'), { success: 1, failed: 1 });
    assert.deepEqual(samples(text, 'rdcp_notifications_total', 'rdcp_reason'), { queue_full: 1 });
    assert.match(text, /^rdcp_audit_failures_total\{[^}]*\} 1$/m);
    const enabling = text.split('\n').filter((line) => line.includes('rdcp_action="enable"'));
    const buckets = samples(enabling.join('\n'), 'rdcp_control_duration_bucket', 'le');
    assert.deepEqual(
      [buckets['0.001'], buckets['0.005'], buckets['0.1'], buckets['0.25'], buckets['10'], buckets['+Inf']],
      [0, 1, 1, 2, 2, 2],
    );
  });

  for (const how of ['at the next check', 'with the next request']) {
    it(`leave a provider for one that is registered later, ${how}`, async () => {
      const [first, second] = [createPrometheus(), createPrometheus()];
      const { state, instruments } = bench(first.provider.getMeter('rdcp'));
      state.meter = second.provider.getMeter('rdcp');
      state.calls = [7, 7];
      const callsIn = async ({ scrape }: typeof first) =>
        samples(await scrape(), 'rdcp_debug_calls_total', 'rdcp_category_name');
      const isTick = how === 'at the next check';
      if (isTick) state.tick();
      else instruments.controlRequest('enable', 'success', 0.001);
      assert.deepEqual([await callsIn(first), await callsIn(second)], [{}, { PAYMENTS: 7, CACHE: 7 }]);
      const requests = samples(await second.scrape(), 'rdcp_control_requests_total', 'rdcp_outcome');
      assert.deepEqual(requests, isTick ? {} : { success: 1 });
    });
  }

  it('are observed no more once closed', async () => {
    const { instruments, scrape } = scraped();
    instruments.close();
    instruments.controlRequest('enable', 'success', 0.001);
    assert.doesNotMatch(await scrape(), /rdcp_debug_calls|rdcp_control_requests/);
  });

  it('break nothing when the meter or what they read throws', async () => {
    const broken: Meter = {
      ...createNoopMeter(),
      createObservableCounter() {
        throw new Error('meter is broken');
      },
    };
    const { state, instruments } = bench(broken);
    instruments.controlRequest('enable', 'success', 0.001);
    instruments.authFailure('none', 'missing');
    const { provider, scrape } = createPrometheus();
    state.meter = provider.getMeter('rdcp');
    state.tick();
    Object.defineProperty(state, 'categories', {
      get() {
        throw new Error('slots are broken');
      },
    });
    assert.match(await scrape(), /target_info/);
    instruments.close();
  });
});
