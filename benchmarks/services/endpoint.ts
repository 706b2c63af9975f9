// The endpoint of a service of 20 categories, with limits that a benchmark does not reach.

import { announce } from '../load/serve.ts';
import { built } from '../measurement.ts';
import { API_KEY_HASH, CATEGORIES, ISSUER } from './identities.ts';

const { createRdcp }: typeof import('../../src/index.ts') = await import(built('index.js'));

const [store = 'memory:'] = process.argv.slice(2);
const MANY = 1e9;

const rdcp = createRdcp({
  server: { port: 0 },
  security: {
    apiKeys: [{ id: 'key', hash: API_KEY_HASH, clientId: 'benchmark', scopes: ['status', 'control'] }],
    jwt: ISSUER,
  },
  store,
  limits: { controlPerMinute: MANY, readPerMinute: MANY },
});
for (const name of CATEGORIES) rdcp.category(name, { description: `What ${name} does` });

const { url } = await rdcp.listen();
announce(Number(new URL(url).port));
