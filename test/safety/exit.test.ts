import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { PATHS } from '../../src/wire/constants.ts';
import { built } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { APP, assertEndsByItself } from './exit.ts';
import { run } from './program.ts';
import { testConfig, trailOf } from './service.ts';

const REGISTER = built('register.js');

describe('an application ends by itself when its work is done, although clients are connected and a temporary control lives', {
  concurrency: 2,
}, () => {
  it('under register, where its trail is written out first', async (t) => {
    const cwd = newFolder(t);
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
