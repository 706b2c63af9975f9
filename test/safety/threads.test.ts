import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { built } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { inFull } from '../support/tiers.ts';
import { run } from './program.ts';
import { serviceOf, testConfig } from './service.ts';

const APP = join(import.meta.dirname, 'threaded-app.ts');
const REGISTER = built('register.js');
const ENABLE = { action: 'enable', categories: 'DATABASE' };

inFull(
  'under register a worker thread starts nothing of its own, follows the main thread, and keeps nothing alive',
  async (t) => {
    const cwd = newFolder(t);
    const config = join(cwd, 'rdcp.json');
    writeFileSync(config, JSON.stringify(testConfig()));
    const env = { RDCP_CONFIG: config, OTEL_EXPORTER_PROMETHEUS_PORT: '0' };
    const program = run(t, APP, { imports: [REGISTER], cwd, env });
    const [, url = ''] = await program.found(/remote control on (http:[^,\s]+)/, 'stderr');
    await program.found(/^ready undefined$/m);
    assert.equal((await serviceOf(program, url).control(ENABLE)).status, 200);
    program.child.send('tell');
    assert.deepEqual((await once(program.child, 'message'))[0], { here: true, there: true });
    assert.equal(await program.endedWithin(8000), 0, program.output.stderr);
    const [start, switched, line, ...more] = program.output.stderr.split('\n');
    assert.match(`${start}\n${line}`, /remote control on .*\n.* DEBUG DATABASE in a thread$/);
    assert.match(switched ?? '', /^rdcp: DATABASE on by /);
    assert.deepEqual(more, [''], 'one line of one start, one of the change, and one of the thread');
  },
);

test('a worker thread may be under a remote control of its own, and ends by itself', async (t) => {
  const program = run(t, APP, { args: [JSON.stringify(testConfig())], cwd: newFolder(t) });
  const [, url = ''] = await program.found(/^ready (http:\S+)$/m);
  assert.equal((await serviceOf(program, url).control(ENABLE)).status, 200);
  program.child.send('tell');
  assert.deepEqual((await once(program.child, 'message'))[0], { here: false, there: true });
  assert.equal(await program.endedWithin(8000), 0, program.output.stderr);
  assert.match(program.output.stderr, /DEBUG DATABASE in a thread/);
});
