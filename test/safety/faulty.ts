import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS } from '../../src/wire/constants.ts';
import type { HealthResponse, MetricsResponse } from '../../src/wire/messages.ts';
import { CATEGORIES } from '../support/categories.ts';
import { run } from './program.ts';
import { serviceOf, testConfig } from './service.ts';

const APP = join(import.meta.dirname, 'faulty-app.ts');

/** What is broken around the application. */
export const AROUND = {
  'nothing but what it passes itself': 'none',
  'a log processor': 'logs',
  'a logger': 'logger',
  spans: 'traces',
  'a meter': 'meters',
  instruments: 'instruments',
  'every provider': 'providers',
  'the diagnostics': 'diag',
  stderr: 'stderr',
  'all of it': 'diag,providers,stderr',
};

async function startFaulty(t: TestContext, faults: string) {
  const program = run(t, APP, { args: [faults, JSON.stringify(testConfig({}))] });
  const [, url = ''] = await program.found(/^ready (\S+)$/m);
  return serviceOf(program, url);
}

/** Starts an application for each of these, and uses it. */
export function throwsNothing(around: readonly (keyof typeof AROUND)[]): void {
  describe('an application is thrown nothing', { concurrency: 2 }, () => {
    for (const name of around) {
      it(`when ${name} is broken, and the endpoint works as ever`, async (t) => {
        const service = await startFaulty(t, AROUND[name]);
        const changed = await service.control({ action: 'enable', categories: [...CATEGORIES] });
        assert.equal(changed.status, 200, changed.text);
        assert.equal(changed.body.status, 'success');
        // What is thrown or rejected later has no end that could be waited for.
        await sleep(200);

        const health = await service.request<HealthResponse>(PATHS.health, { key: 'status' });
        assert.equal(health.status, 503);
        assert.equal(health.body.status, 'unhealthy');
        const checks = Object.fromEntries((health.body.checks ?? []).map((check) => [check.name, check.status]));
        assert.deepEqual(checks, {
          store: 'pass',
          audit: 'pass',
          credentials: 'pass',
          emit: 'pass',
          throws: 'fail',
          rejects: 'fail',
          'rejects.nothing': 'fail',
          'throws.later': 'fail',
          'returns.what.throws': 'fail',
          fine: 'pass',
        });
        const audit = await service.request<AuditResponse>(PATHS.audit, { key: 'admin' });
        assert.equal(audit.body.entries[0]?.action, 'enable');
        assert.equal((await service.request<MetricsResponse>(PATHS.metrics, { key: 'admin' })).status, 200);
        assert.equal((await service.request(PATHS.status, { headers: { 'X-RDCP-API-Key': 'wrong' } })).status, 401);

        service.child.send('tell');
        const [unexpected] = await once(service.child, 'message');
        assert.deepEqual(unexpected, []);
        service.child.send('end');
        assert.equal(await service.ended, 0);
      });
    }
  });
}
