import assert from 'node:assert/strict';
import { service } from './service.ts';

const { rdcp, get, post } = await service({ categories: { ORDERS: { description: 'orders' } } });
const json = async (path: string) => (await get(path)).json();
const { paths } = await json('/rdcp/v1/openapi.json');
assert.ok('/rdcp/v1/control' in paths && '/rdcp/v1/tail' in paths);
const discovery = await json('/rdcp/v1/discovery');
assert.equal(discovery.categories.find(({ name }: { name: string }) => name === 'ORDERS')?.description, 'orders');
assert.equal((await json('/.well-known/rdcp')).protocol, 'rdcp/1.0');
const options = { duration: '1m', otelrdcp_filter: { where: 'rows >' } };
const refused = await post('/rdcp/v1/control', { action: 'enable', categories: ['ORDERS'], options });
assert.deepEqual([refused.status, (await refused.json()).error.details.field], [400, 'options.otelrdcp_filter.where']);
await rdcp.close();
