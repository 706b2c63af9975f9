import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import { run } from '../safety/program.ts';
import { testConfig } from '../safety/service.ts';
import { built } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { KEYS } from '../support/server.ts';
import { until } from '../support/until.ts';

it('a primary without application code answers for its workers and their threads', async (t) => {
  const cwd = newFolder(t);
  const file = join(cwd, 'rdcp.json');
  writeFileSync(file, JSON.stringify(testConfig({ adopt: false, fleet: { acknowledgeTimeoutSeconds: 25 } })));
  const program = run(t, join(import.meta.dirname, 'bare-app.ts'), {
    imports: [built('register.js')],
    cwd,
    env: { TMPDIR: cwd, RDCP_CONFIG: file, OTEL_EXPORTER_PROMETHEUS_PORT: '0' },
  });
  const [, url = ''] = await program.found(/remote control on (http:[^,\s]+)/, 'stderr');
  const client = createRdcpClient({ baseUrl: url, apiKey: KEYS.admin });

  const listed = async () => (await client.discovery()).categories;
  await until('both workers say what they have', async () => {
    const found = await listed();
    return found.length === 2 && found.every(({ otelrdcp_instances: instances }) => instances?.having === 2);
  });
  assert.deepEqual(
    (await listed()).map(({ name, description, otelrdcp_instances: instances }) => [name, description, instances]),
    [
      ['ORDERS', 'in a worker', { having: 2, of: 3 }],
      ['THREADED', 'in a thread of a worker', { having: 2, of: 3 }],
    ],
  );

  const answer = await client.control({ action: 'enable', categories: ['ORDERS', 'THREADED'] });
  assert.deepEqual([answer.status, answer.otelrdcp_fleet?.applied], ['success', 3]);
  const enabled = async () => {
    program.child.send('enabled');
    return JSON.stringify((await once(program.child, 'message'))[0]);
  };
  await until(
    'both are on in the workers and their threads',
    async () => (await enabled()) === '[[true,true],[true,true]]',
  );
  await until('the calls of the workers are counted', async () => {
    return (await listed()).every(({ metrics }) => metrics.callsTotal > 0 && metrics.callsPerSecond > 0);
  });

  const { instances, categories } = await client.forecast(['THREADED'], { duration: '1s' });
  assert.deepEqual(instances, { asked: 2, answered: 2 });
  assert.ok((categories.THREADED?.callsPerSecond.value ?? 0) > 1);
  const seen = new Set<string>();
  for await (const { event, data } of client.tail(['ORDERS', 'THREADED'], { lines: 40, duration: '30s' })) {
    if (event === 'start') assert.equal(data.instances, 2);
    if (event === 'line') seen.add(`${data.category}: ${data.message}`);
  }
  assert.deepEqual([...seen].sort(), ['ORDERS: order taken', 'THREADED: from a thread']);
});
