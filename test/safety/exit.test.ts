import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { PATHS } from '../../src/protocol/constants.ts';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { built } from '../support/built.ts';
import { APP, assertEndsByItself, assertEndsWithStore } from './exit.ts';
import { run } from './program.ts';
import { temporaryDirectory, testConfig, trailOf } from './service.ts';

const REGISTER = built('register.js');

describe('an application ends by itself when its work is done, although clients are connected and a temporary control lives', {
  concurrency: 2,
}, () => {
  it('with a store in memory', (t) => assertEndsWithStore(t, 'memory:'));

  it('with a Redis that answers nobody', { skip: whyNoRedis() }, async (t) => {
    const redis = await startRedis();
    t.after(() => redis.close());
    await assertEndsWithStore(t, redis.url, async () => redis.freeze());
  });

  it('under register, where its trail is written out first', async (t) => {
    const cwd = temporaryDirectory(t);
    const file = join(cwd, 'state.db');
    const config = join(cwd, 'rdcp.json');
    writeFileSync(config, JSON.stringify(testConfig({ store: `sqlite:${file}` })));
    const env = { RDCP_CONFIG: config, OTEL_EXPORTER_PROMETHEUS_PORT: '0' };
    const program = run(t, APP, { imports: [REGISTER], cwd, env });
    const [, url = ''] = await program.found(/remote control on (http:[^,\s]+)/, 'stderr');
    await assertEndsByItself(t, program, url, async () => {
      assert.equal((await fetch(url + PATHS.status)).status, 401);
    });
    assert.deepEqual(
      (await trailOf(file)).map(({ action }) => action),
      ['authenticate', 'enable'],
    );
  });
});
