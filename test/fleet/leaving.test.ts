import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import { announced, KEY, start } from '../register/running.ts';
import { fleetOf } from '../support/on-records.ts';
import { until } from '../support/until.ts';

/** What a handler of SIGTERM does, after which the process ends. */
const HANDLERS = {
  exits: 'process.exit(0)',
  'closes its server and exits': 'server.close(() => process.exit(0))',
  'exits after its last request': 'setTimeout(() => process.exit(0), 20)',
  'leaves nothing to do': 'server.close()',
};

for (const [name, handler] of Object.entries(HANDLERS)) {
  test(`a process whose handler of SIGTERM ${name} leaves its fleet`, async (t) => {
    const run = await start(t, {
      env: { RDCP_SERVER_API_KEY: KEY, RDCP_STORE: 'sqlite:fleet.sqlite', OTEL_METRICS_EXPORTER: 'none' },
      app: `
        import { createServer } from 'node:http';
        const server = createServer().listen(0, '127.0.0.1');
        process.on('SIGTERM', () => { ${handler}; });`,
    });
    await announced(run);
    const store = createSqliteStore(join(run.cwd, 'fleet.sqlite'));
    t.after(() => store.close());
    const members = async () => (await fleetOf(store).look())?.instances.map(({ pid }) => pid);
    await until('the process in the fleet', async () => (await members())?.includes(run.child.pid ?? 0) || undefined);
    run.child.kill('SIGTERM');
    assert.deepEqual(await run.closed, [0, null], run.output.stderr);
    assert.deepEqual(await members(), []);
  });
}
