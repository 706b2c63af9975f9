import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { PATHS } from '../../src/protocol/constants.ts';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { requestText } from '../support/raw-http.ts';
import { run } from './program.ts';
import { serviceOf, temporaryDirectory, testConfig } from './service.ts';

/** Longest time that ending may take when there is nothing to wait for, on a machine with much else to do. */
const PATIENCE_MS = 4000;

const APP = join(import.meta.dirname, 'finishing-app.ts');

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

async function assertEndsByItself(t: TestContext, store: string, before: () => Promise<void> = async () => undefined) {
  const program = run(t, APP, { args: [JSON.stringify(testConfig({ store }))], cwd: temporaryDirectory(t) });
  const [, url = ''] = await program.found(/^ready (\S+)$/m);
  const service = serviceOf(program, url);
  const options = { duration: '1h' };
  assert.equal((await service.control({ action: 'enable', categories: 'HTTP', options })).status, 200);
  await holdConnections(t, url);
  await before();
  program.child.send('finish');
  assert.equal(await program.endedWithin(PATIENCE_MS), 0, program.output.stderr);
  assert.match(program.output.stderr, /DEBUG HTTP done/);
}

describe('an application ends by itself when its work is done, although clients are connected and a temporary control lives', {
  concurrency: 2,
}, () => {
  it('with a store in memory', (t) => assertEndsByItself(t, 'memory:'));

  it('with a SQLite file', (t) => assertEndsByItself(t, `sqlite:${join(temporaryDirectory(t), 'state.db')}`));

  it('with Redis', { skip: whyNoRedis() }, async (t) => {
    const redis = await startRedis();
    t.after(() => redis.close());
    await assertEndsByItself(t, redis.url);
  });

  it('with a Redis that is gone', { skip: whyNoRedis() }, async (t) => {
    const redis = await startRedis();
    t.after(() => redis.close());
    await assertEndsByItself(t, redis.url, () => redis.kill());
  });

  it('with a Redis that answers nobody', { skip: whyNoRedis() }, async (t) => {
    const redis = await startRedis();
    t.after(() => redis.close());
    await assertEndsByItself(t, redis.url, async () => redis.freeze());
  });
});
