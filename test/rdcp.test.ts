import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createRdcp } from '../src/assembly/rdcp.ts';
import { createMemoryStore } from '../src/store/memory/store.ts';
import { isRdcpError } from '../src/wire/errors.ts';
import { makeKey } from './auth/records.ts';
import { settled } from './support/virtual-time.ts';

const security = { apiKeys: [makeKey().record] };

test('once closed it does not listen, rather than name an address that is not served', async () => {
  const rdcp = createRdcp({ server: { port: 0 }, security });
  after(() => rdcp.close());
  await rdcp.listen();
  await rdcp.close();
  await assert.rejects(rdcp.listen(), { code: 'RDCP_UNAVAILABLE' });
});

test('closing ends although the store of the application never closes', async (t) => {
  const store = { ...createMemoryStore(), close: () => new Promise<never>(() => undefined) };
  const rdcp = createRdcp({ server: false, security, store });
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let closed = false;
  const closing = rdcp.close().then(() => {
    closed = true;
  });
  await settled();
  assert.equal(closed, false);
  t.mock.timers.tick(15_000);
  await closing;
});

test('an error of another copy of the package is known as one', () => {
  const brand = Symbol.for('opentelemetry-instrumentation-rdcp.error');
  assert.equal(isRdcpError(Object.assign(new Error('by another copy'), { [brand]: true })), true);
});
