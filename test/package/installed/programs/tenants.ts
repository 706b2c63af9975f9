import assert from 'node:assert/strict';
import { runWithTenant } from 'opentelemetry-instrumentation-rdcp/api';
import { createRdcpClient } from 'opentelemetry-instrumentation-rdcp/client';
import { KEY, service } from './service.ts';

const tenancy = { isolation: 'organization' as const, tenants: { acme: { name: 'Acme Ltd' } } };
const { rdcp, url, lines, client } = await service({ tenancy });
const orders = rdcp.category('ORDERS');
await createRdcpClient({ baseUrl: url, apiKey: KEY, tenantId: 'acme' }).enable('ORDERS', { duration: '1m' });
for (const tenant of ['acme', 'other']) runWithTenant(tenant, () => orders.debug('placed'));
orders.debug('placed');
assert.deepEqual(
  lines.map(({ tenant }) => tenant),
  ['acme'],
);
assert.ok((await client.tenants()).tenants.some(({ id }) => id === 'acme'));
await rdcp.close();
