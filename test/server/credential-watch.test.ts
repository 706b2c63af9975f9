import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Principal } from '../../src/access/principal.ts';
import type { Context } from '../../src/endpoint/steps.ts';
import { createCredentialWatch } from '../../src/endpoint/streams/credential-watch.ts';

/** How long a keys file, or a session that another process revoked, may take to be noticed. */
const NOTICED_AFTER_MS = 500;

test('a credential that is revoked elsewhere ends a stream within a second', async () => {
  const principal: Principal = { method: 'api-key', userId: 'a', clientId: 'a', scopes: ['admin'] };
  const checks: { every: number; check: () => void }[] = [];
  let current: Principal | undefined = principal;
  let over = 0;
  const watch = createCredentialWatch(async () => current, {
    clock: { now: () => 0, monotonic: () => 0 },
    schedule: (every, check) => {
      checks.push({ every, check });
      return () => {};
    },
    delay: () => () => {},
  });
  watch({ state: { principal } } as unknown as Context, ['admin'], () => over++);
  const [first] = checks;
  first?.check();
  await new Promise(setImmediate);
  assert.equal(over, 0);
  current = undefined;
  first?.check();
  await new Promise(setImmediate);
  assert.equal(over, 1);
  assert.ok(first !== undefined && NOTICED_AFTER_MS + first.every < 1000, `${first?.every} ms`);
});
