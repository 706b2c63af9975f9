import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { PATHS } from '../../src/wire/constants.ts';
import { built } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { inFull } from '../support/tiers.ts';
import { APP, assertEndsByItself } from './exit.ts';
import { run } from './program.ts';
import { serviceOf, testConfig, trailOf } from './service.ts';

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

const SRC = join(import.meta.dirname, '..', '..', 'src');
const GATE = 'Symbol(opentelemetry-instrumentation-rdcp.gate.v1)';

/** zod's own, which only zod looks at. */
const ZOD = ['__zod_globalConfig', '__zod_globalRegistry'];

/** Every entry but register, with the globals that it leaves. */
const ENTRIES = { index: [...ZOD, GATE], api: [GATE], client: [], redis: ZOD, postgres: ZOD };

describe('importing an entry does nothing to the process', { concurrency: 2 }, () => {
  for (const [entry, globals] of Object.entries(ENTRIES)) {
    (entry === 'index' ? it : inFull)(entry, async (t) => {
      const cwd = newFolder(t);
      const args = [pathToFileURL(join(SRC, `${entry}.ts`)).href];
      const program = run(t, join(import.meta.dirname, 'importing-app.ts'), { args, cwd });
      const [differences] = await once(program.child, 'message');
      assert.deepEqual(differences, { names: globals, functions: [], listeners: [], resources: 0, environment: true });
      assert.equal(await program.endedWithin(8000), 0);
      assert.deepEqual(program.output, { stdout: '', stderr: '' });
      assert.deepEqual(readdirSync(cwd), []);
    });
  }
});

const THREADED_APP = join(import.meta.dirname, 'threaded-app.ts');
const ENABLE = { action: 'enable', categories: 'DATABASE' };

inFull(
  'under register a worker thread starts nothing of its own, follows the main thread, and keeps nothing alive',
  async (t) => {
    const cwd = newFolder(t);
    const config = join(cwd, 'rdcp.json');
    writeFileSync(config, JSON.stringify(testConfig()));
    const env = { RDCP_CONFIG: config, OTEL_EXPORTER_PROMETHEUS_PORT: '0' };
    const program = run(t, THREADED_APP, { imports: [REGISTER], cwd, env });
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
  const program = run(t, THREADED_APP, { args: [JSON.stringify(testConfig())], cwd: newFolder(t) });
  const [, url = ''] = await program.found(/^ready (http:\S+)$/m);
  assert.equal((await serviceOf(program, url).control(ENABLE)).status, 200);
  program.child.send('tell');
  assert.deepEqual((await once(program.child, 'message'))[0], { here: false, there: true });
  assert.equal(await program.endedWithin(8000), 0, program.output.stderr);
  assert.match(program.output.stderr, /DEBUG DATABASE in a thread/);
});
