// One process of the fleet that fleet.ts measures. It notes when its gate has followed a change, and when a bare message
// came, on the host's monotonic clock, and hands all of it over at the end.

import { createClient } from 'redis';
import { built } from './measurement.ts';

const { createRdcp }: typeof import('../src/index.ts') = await import(built('index.js'));
const { createRedisStore }: typeof import('../src/redis.ts') = await import(built('redis.js'));

const [url = '', channel = '', hash = ''] = process.argv.slice(2);
const store = createRedisStore({ url });
const rdcp = createRdcp({
  store,
  server: { port: 0 },
  security: { apiKeys: [{ id: 'benchmark', hash, clientId: 'benchmark', scopes: ['admin'] }] },
  limits: { controlPerMinute: 1_000_000, readPerMinute: 1_000_000 },
});
const category = rdcp.category('CHECKOUT');
const { url: address } = await rdcp.listen();
const bare = createClient({ url });
await bare.connect();

const flips: [on: boolean, at: number][] = [];
const messages: number[] = [];
const now = () => Number(process.hrtime.bigint()) / 1e6;

process.on('message', (command: 'begin' | 'end') => {
  if (command === 'begin') {
    // Told after the control plane, which subscribed first: the gate has followed by then. A change may be told twice.
    store.subscribe(() => {
      if (flips.at(-1)?.[0] !== category.enabled) flips.push([category.enabled, now()]);
    });
    void bare.subscribe(channel, () => messages.push(now())).then(() => process.send?.('ready'));
  } else process.send?.({ flips, messages });
});
process.on('disconnect', () => process.exit());
process.send?.({ address });
