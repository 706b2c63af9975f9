import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { openReceiver } from './otlp-receiver.ts';
import { announced, KEY, start, WAIT } from './running.ts';

const ON = ['HTTP_SERVER', 'HTTP_CLIENT', 'UNDICI', 'NET', 'REDIS'];
/** A pattern of their lines on stderr. */
const LINE = new RegExp(` DEBUG (${ON.join('|')}) (.*)`, 'g');

it('under register, the categories of diagnostics channels show the traffic of the application, and none of the endpoint, its metrics, store and exporters', {
  skip: whyNoRedis(),
}, async (t) => {
  const redis = await startRedis();
  t.after(() => redis.close());
  const receiver = await openReceiver(t);
  const run = await start(t, {
    env: {
      RDCP_SERVER_API_KEY: KEY,
      RDCP_STORE: redis.url,
      ...receiver.env,
      OTEL_BLRP_SCHEDULE_DELAY: '10',
      OTEL_BSP_SCHEDULE_DELAY: '10',
    },
    config: {
      emit: { to: 'both' },
      adopt: { debug: false },
      categories: Object.fromEntries([...ON, 'PAYMENTS'].map((name) => [name, { enabled: true }])),
    },
    app: `
      import { createServer, get } from 'node:http';
      const server = createServer((request, response) => response.end('ok')).listen(0, '127.0.0.1', () => server.unref());
      category('PAYMENTS').span('charge', () => category('PAYMENTS').debug('charging'));
      process.stdin.once('data', () => {
        get('http://127.0.0.1:' + server.address().port + '/orders', (response) => response.resume());
      });
      ${WAIT}`,
  });
  const { url, metrics } = await announced(run);
  for (let round = 0; round < 3; round++) {
    const headers = { 'X-RDCP-API-Key': KEY };
    assert.equal((await fetch(`${url}/rdcp/v1/discovery`, { headers })).status, 200);
    assert.equal((await fetch(metrics)).status, 200);
  }
  await run.until(() => receiver.spans().length > 0);
  const lines = () => [...run.output.stderr.matchAll(LINE)].map(([, name, rest]) => `${name} ${rest}`);
  const before = lines();
  run.child.stdin?.write('go');
  await run.until(() => lines().some((line) => line.startsWith('HTTP_CLIENT response received')));
  const after = lines().slice(before.length);
  // The application's own server listens.
  assert.deepEqual(
    before.filter((line) => !line.startsWith('NET listening')),
    [],
  );
  assert.equal(before.length, 1);
  for (const expected of ['HTTP_SERVER request received', 'HTTP_SERVER response sent', 'NET connection accepted']) {
    assert.ok(
      after.some((line) => line.startsWith(expected)),
      `${expected}\n${after.join('\n')}`,
    );
  }
  assert.ok(receiver.paths.length > 0);
});
