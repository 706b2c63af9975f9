import assert from 'node:assert/strict';
import { test } from 'node:test';
import { documentControls } from '../../src/control/pull/controls.ts';
import { createIsolation } from '../../src/control/tenancy/isolation.ts';

const CASES = [
  { asked: { callsPerSecond: 5000, calls: 10 }, configured: 500, made: { callsPerSecond: 500, calls: 10 } },
  { asked: { callsPerSecond: 50, bytes: 1000 }, configured: 500, made: { callsPerSecond: 50, bytes: 1000 } },
  { asked: { callsPerSecond: 5000 }, configured: undefined, made: { callsPerSecond: 5000 } },
  { asked: { calls: 10 }, configured: 500, made: { calls: 10 } },
] as const;

for (const { asked, configured, made } of CASES) {
  const what = `${JSON.stringify(asked)} where the service allows ${configured ?? 'any number of'} calls a second`;
  test(`each limit of a document is the smaller of the two: ${what}`, async () => {
    const requests: unknown[] = [];
    const begin = documentControls({
      plane: {
        control: async ({ options }) => {
          requests.push(options?.otelrdcp_budget);
          return { response: {} as never, replayed: false };
        },
      },
      check: async () => {},
      isolation: createIsolation(false),
      configuredRate: () => configured,
      maxDuration: 3600,
      clock: { now: () => 0 },
    });
    const controls = [{ categories: ['IMPORT'], options: { otelrdcp_budget: asked }, expiresAt: 60_000 }];
    await begin({ id: 'd', issuer: 'https://ops.example', issuedAt: 0, controls } as never, 0);
    assert.deepEqual(requests, [made]);
  });
}
