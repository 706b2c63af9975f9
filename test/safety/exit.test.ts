import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { PATHS } from '../../src/protocol/constants.ts';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { built } from '../support/built.ts';
import { requestText } from '../support/raw-http.ts';
import { type Program, run } from './program.ts';
import { serviceOf, temporaryDirectory, testConfig, trailOf } from './service.ts';

/** On a machine with much else to do. A request that was begun holds a server up for longer. */
const PATIENCE_MS = 8000;

const APP = join(import.meta.dirname, 'finishing-app.ts');
const REGISTER = built('register.js');

/** Clients that hold connections open: one that was served, one in the middle of a request, one that says nothing. */
async function holdConnections(t: TestContext, url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const started = requestText('POST', PATHS.control, [
    ['Host', 'localhost'],
    ['Content-Length', '100'],
  ]);
  for (const text of [`GET ${PATHS.wellKnown} HTTP/1.1\r\nHost: localhost\r\n\r\n`, started, '']) {
    const socket = connect(Number(port), hostname);
    t.after(() => socket.destroy());
    socket.on('error', () => undefined);
    await new Promise<void>((resolve) => socket.write(text, () => resolve()));
  }
}

/** Has the program switch something for an hour, hold connections, and then finish. */
async function assertEndsByItself(t: TestContext, program: Program, url: string, before?: () => Promise<void>) {
  const service = serviceOf(program, url);
  const options = { duration: '1h' };
  assert.equal((await service.control({ action: 'enable', categories: 'HTTP', options })).status, 200);
  await holdConnections(t, url);
  await before?.();
  program.child.send('finish');
  assert.equal(await program.endedWithin(PATIENCE_MS), 0, program.output.stderr);
  assert.match(program.output.stderr, /DEBUG HTTP done/);
}

async function assertEndsWithStore(t: TestContext, store: string, before?: () => Promise<void>) {
  const program = run(t, APP, { args: [JSON.stringify(testConfig({ store }))], cwd: temporaryDirectory(t) });
  const [, url = ''] = await program.found(/^ready (\S+)$/m);
  await assertEndsByItself(t, program, url, before);
}

describe('an application ends by itself when its work is done, although clients are connected and a temporary control lives', {
  concurrency: 2,
}, () => {
  it('with a store in memory', (t) => assertEndsWithStore(t, 'memory:'));

  it('with a SQLite file', (t) => assertEndsWithStore(t, `sqlite:${join(temporaryDirectory(t), 'state.db')}`));

  it('with Redis', { skip: whyNoRedis() }, async (t) => {
    const redis = await startRedis();
    t.after(() => redis.close());
    await assertEndsWithStore(t, redis.url);
  });

  it('with a Redis that is gone', { skip: whyNoRedis() }, async (t) => {
    const redis = await startRedis();
    t.after(() => redis.close());
    await assertEndsWithStore(t, redis.url, () => redis.kill());
  });

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
