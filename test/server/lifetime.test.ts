import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timeout } from '../../src/server/middleware/lifetime.ts';
import type { Context } from '../../src/server/steps.ts';

for (const [outcome, work] of [
  ['answered', async () => {}],
  ['failed', () => Promise.reject(new Error('no'))],
] as const) {
  test(`the state of a request that was ${outcome} refers to it no longer`, async () => {
    const ctx = { state: { expired: false, extend: undefined } } as Context;
    let during: unknown;
    await timeout(30, (error) => assert.fail(String(error)))(ctx as never, () => {
      during = ctx.state.extend;
      return work();
    }).catch(() => undefined);
    assert.equal(typeof during, 'function');
    assert.equal(ctx.state.extend, undefined);
  });
}
