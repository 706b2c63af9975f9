import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ISOLATION_LEVELS } from '../../src/wire/constants.ts';
import { judge } from '../conformance/src/conformance.ts';
import { apiKey } from '../conformance/src/session.ts';
import { LEVELS, startTenantServer } from '../support/tenants.ts';

/** The checks that are about tenants. */
const TENANTS = ['L2-TCTX', 'L2-TENA', 'L2-ISOL'];

for (const level of ISOLATION_LEVELS) {
  test(`a server with tenants conforms to what the specification says of them, isolation ${level}`, async (t) => {
    const server = await startTenantServer(t, LEVELS[level], { config: { security: { level: 'standard' } } });
    const of = (name: 'admin' | 'viewer' | 'acme' | 'acmeOperator' | 'beta') =>
      apiKey(name, server.as(name).headers['X-RDCP-API-Key'] ?? '');
    const credentials = { main: of('admin'), readonly: of('viewer'), tenants: [of('acmeOperator'), of('beta')] };
    const report = await judge(
      {
        target: { url: new URL(server.url) },
        level: 2,
        credentials,
        exhaust: false,
        // What tenants change about everything else shows at the level that changes most.
        only: level === 'organization' ? [] : TENANTS,
      },
      () => undefined,
    );
    const failed = report.results.filter(({ outcome }) => outcome === 'FAIL');
    assert.deepEqual(
      failed.map(({ id, statement, expected, got }) => `${id} ${statement}: expected ${expected}, got ${got}`),
      [],
    );
    const passed = report.results.filter(({ id, outcome }) => outcome === 'PASS' && TENANTS.includes(id.slice(0, 7)));
    assert.ok(passed.length >= 15, `${passed.length} checks of tenants passed`);
    assert.deepEqual(report.leftOver, []);
  });
}
