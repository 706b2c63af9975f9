import assert from 'node:assert/strict';
import { asking, service } from './service.ts';

const { rdcp, url, client } = await service({ server: { port: 0, trustedProxies: ['127.0.0.1'] } });
await asking(url).get('/rdcp/v1/session', { 'X-RDCP-API-Key': 'of nobody', 'X-Forwarded-For': '203.0.113.7' });
const { entries } = await client.audit({ outcome: 'denied' });
assert.equal(entries[0]?.source?.address, '203.0.113.7');
await rdcp.close();
