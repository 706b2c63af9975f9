import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTenantRates } from '../../src/calls/metrics/rates.ts';
import { TenantCallCounts } from '../../src/gate/tallies.ts';
import fc from '../support/fast-check.ts';

function running(start = 0) {
  let now = start;
  const calls = new TenantCallCounts();
  const rates = createTenantRates({ calls, clock: { monotonic: () => now }, windowSeconds: 60 });
  return {
    rates,
    emit(count: number, tenant = 'acme') {
      for (let call = 0; call < count; call++) calls.count(tenant, 0);
    },
    /** Lets seconds pass, with the samples that come due. */
    pass(seconds: number) {
      for (let second = 0; second < seconds; second++) {
        now += 1000;
        rates.sample();
      }
    },
    rate: (tenant = 'acme') => rates.callsPerSecond(tenant, 0),
  };
}

describe('the rate of a tenant', () => {
  it('is measured over the life of the process while that is shorter than the window', () => {
    const { emit, pass, rate } = running();
    pass(10);
    emit(40);
    pass(10);
    assert.equal(rate(), 2);
    assert.equal(rate('other'), 0);
  });

  it('forgets what left the window, also of a tenant that says nothing any more', () => {
    const { emit, pass, rate } = running();
    emit(600);
    pass(50);
    assert.equal(rate(), 12);
    pass(25);
    assert.equal(rate(), 0);
    emit(60);
    pass(1);
    assert.ok(rate() > 0.8 && rate() <= 1, String(rate()));
  });

  it('is each tenant’s own', () => {
    const { emit, pass, rate } = running(1_000_000);
    pass(120);
    for (let second = 0; second < 120; second++) {
      emit(1, 'acme');
      emit(5, 'beta');
      pass(1);
    }
    assert.ok(Math.abs(rate('acme') - 1) < 0.02, String(rate('acme')));
    assert.ok(Math.abs(rate('beta') - 5) < 0.1, String(rate('beta')));
  });

  it('is never more than was emitted in a window and one sixth, divided by the window', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 200 }), (perSecond) => {
        const { emit, pass, rate } = running(1_000_000);
        for (const count of perSecond) {
          emit(count);
          pass(1);
        }
        const sum = (seconds: number) => perSecond.slice(-seconds).reduce((total, count) => total + count, 0);
        assert.ok(rate() <= sum(71) / 60 + 1e-9, `${rate()}`);
        assert.ok(rate() >= sum(60) / 71 - 1e-9, `${rate()}`);
      }),
    );
  });
});
