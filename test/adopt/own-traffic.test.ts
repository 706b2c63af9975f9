// In a process of its own: it follows the diagnostics channels of the process.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createRdcp } from '../../src/assembly/rdcp.ts';
import { makeKey } from '../auth/records.ts';
import { until } from '../support/until.ts';
import { serve } from '../work/following.ts';

it('an output that makes requests, and a mounted endpoint, cause no lines of their own', async (t) => {
  const status = makeKey();
  const received: string[] = [];
  /** Lines that are on their way to the collector. */
  let pending = 0;
  const collector = await serve(t, (_req, res) => void res.end());
  const on = ['HTTP_SERVER', 'HTTP_CLIENT', 'UNDICI', 'NET', 'PAYMENTS'];
  const rdcp = createRdcp({
    server: false,
    adopt: { channels: true },
    security: { apiKeys: [status.record] },
    categories: Object.fromEntries(on.map((name) => [name, { enabled: true }])),
    emit: {
      to: async ({ category, message, attributes }) => {
        // The collector is a server of this process as well: its own requests are not collected.
        if (attributes['url.path'] === '/collect') return;
        received.push(`${category} ${message}`);
        pending += 1;
        await new Promise(setImmediate);
        await (await fetch(`${collector}/collect`)).text();
        pending -= 1;
      },
    },
  });
  t.after(() => rdcp.close());
  const handle = rdcp.callback();
  const url = await serve(t, (req, res) => void handle(req, res, () => res.end('app')));
  received.length = 0;
  const shown = () => received.filter((line) => !line.startsWith('NET '));
  const collected = (lines: number) =>
    until(`${lines} lines are collected`, () => shown().length >= lines && pending === 0);
  const ask = async (path: string, expected: number) => {
    const headers = { 'X-RDCP-API-Key': status.key };
    const response = await fetch(url + path, { headers });
    await response.text();
    await collected(expected);
    const lines = shown();
    received.length = 0;
    return [response.status, ...lines];
  };
  const asked = ['UNDICI request started', 'UNDICI response received'];
  assert.deepEqual(await ask('/rdcp/v1/status', 2), [200, ...asked]);
  assert.deepEqual(
    (await ask('/orders', 4)).sort(),
    [200, ...asked, 'HTTP_SERVER request received', 'HTTP_SERVER response sent'].sort(),
  );
  rdcp.category('PAYMENTS').debug('charging');
  await collected(1);
  assert.deepEqual(
    received.filter((line) => !line.startsWith('NET connection accepted')),
    ['PAYMENTS charging'],
  );
});
