// One process of the fleet that tail.ts reads: it debugs fifty times a second, with the time of the host's monotonic clock.

import { built } from './measurement.ts';

const { createRdcp }: typeof import('../src/index.ts') = await import(built('index.js'));

const [store = '', hash = ''] = process.argv.slice(2);
const rdcp = createRdcp({
  store,
  server: { port: 0 },
  announce: false,
  security: { apiKeys: [{ id: 'benchmark', hash, clientId: 'benchmark', scopes: ['admin'] }] },
  limits: { controlPerMinute: 1_000_000, readPerMinute: 1_000_000 },
});
const category = rdcp.category('CHECKOUT');
setInterval(() => category.debug('paid', { at: Number(process.hrtime.bigint()) / 1e6 }), 20);
const { url: address } = await rdcp.listen();
process.on('disconnect', () => process.exit());
process.send?.({ address });
