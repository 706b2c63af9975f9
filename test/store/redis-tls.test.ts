import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createClient } from 'redis';
import { createRedisStore } from '../../src/store/redis/store.ts';
import { createAuthority, writePems } from '../support/certificate.ts';
import { freePort } from '../support/free-port.ts';
import { change, until } from './contract/samples.ts';
import { runToItsEnd } from './ending.ts';
import { follow, PATIENCE_MS, rejectsSoon } from './follower.ts';
import { PASSWORD, type RedisServer, startRedis, whyNoRedis } from './redis-server.ts';

const missing = whyNoRedis();
describe('Redis behind TLS', { skip: missing }, () => {
  const authority = createAuthority();
  const { cert, key } = authority.issue('redis', { usage: 'server' });
  const files = writePems({ ca: authority.cert, cert, key });
  let server: RedisServer;
  let url: string;
  before(async () => {
    const port = await freePort();
    const settings = { port: String(port), 'cert-file': files.cert, 'key-file': files.key, 'ca-cert-file': files.ca };
    const args = Object.entries(settings).flatMap(([name, value]) => [`--tls-${name}`, value]);
    server = await startRedis(...args, '--tls-auth-clients', 'no');
    url = `rediss://:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`;
  });
  after(() => server.close());

  test('a store opened by a rediss URL keeps its state there, and hears of changes', async () => {
    const printed = await runToItsEnd(
      `
        const [a, b] = [1, 2].map(() => createRedisStore({
          url: ${JSON.stringify(url)}, deadlineMs: ${PATIENCE_MS}, pollMs: 100,
        }));
        b.subscribe((scope, { revision }) => console.log(scope, revision));
        await b.load();
        const state = { scope: 'acme', expectedRevision: 0, settings: new Map() };
        const heard = new Promise((resolve) => b.subscribe(resolve));
        console.log((await a.commit({ state, audit: {}, now: 0 })).outcome);
        await heard;
        clearTimeout(work);
      `,
      { NODE_EXTRA_CA_CERTS: files.ca },
    );
    assert.deepEqual(printed.split('\n').toSorted(), ['acme 1', 'committed']);
  });

  test('a server with an untrusted certificate receives nothing', async (t) => {
    const store = createRedisStore({ url });
    t.after(() => store.close());
    const before = server.command('INFO', 'stats');
    await rejectsSoon(store.load());
    const commands = (info: string) => Number(/total_commands_processed:(\d+)/.exec(info)?.[1]);
    assert.equal(
      commands(server.command('INFO', 'stats')) - commands(before),
      2,
      'those of this test, with its password',
    );
  });

  test('the connection for messages of an application’s client is under TLS like the client', async (t) => {
    const client = createClient({ url, socket: { tls: true, ca: authority.cert } });
    client.on('error', () => {});
    await client.connect();
    const store = createRedisStore({ client, deadlineMs: PATIENCE_MS });
    t.after(async () => {
      await store.close();
      client.destroy();
    });
    const { heard } = await follow(store);
    await until(() => server.command('PUBSUB', 'CHANNELS', '*').includes('changed'), 'the subscription');
    await store.commit(change('other', 0, {}));
    await until(() => heard.has('other'), 'the change');
    const plain = server
      .command('CLIENT', 'LIST')
      .split('\n')
      .filter((line) => line.includes(`laddr=127.0.0.1:${server.port}`));
    assert.equal(plain.length, 1, 'that of this test');
  });
});
