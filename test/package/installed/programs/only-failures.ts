import assert from 'node:assert/strict';
import { category, runWork } from 'opentelemetry-instrumentation-rdcp/api';
import { service } from './service.ts';

const { rdcp, lines, client } = await service();
const invoices = category('INVOICES');
await client.enable('INVOICES', { duration: '1m', otelrdcp_when: { failed: true } });
for (const id of [1, 2]) {
  runWork('send-invoice', () => {
    invoices.debug('sending', { id });
    if (id === 2) invoices.fail(new Error('refused'));
  });
}
assert.deepEqual(
  lines.map(({ message, attributes }) => [message, attributes.id]),
  [['sending', 2]],
);
await rdcp.close();
