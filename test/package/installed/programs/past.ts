import assert from 'node:assert/strict';
import { category, recordedLines, runWithAttributes, runWork } from 'opentelemetry-instrumentation-rdcp/api';
import { service } from './service.ts';

const { rdcp, lines, client } = await service();
const invoices = category('INVOICES');
await client.enable('INVOICES', { duration: '1m', otelrdcp_record: true });
for (const id of [1, 2]) {
  runWithAttributes({ 'user.id': id }, () =>
    runWork('send-invoice', () => {
      invoices.debug('sending', { id });
      assert.deepEqual(
        recordedLines().map(({ message }) => message),
        ['sending'],
      );
      if (id === 2) invoices.fail(new Error('refused'));
    }),
  );
}
assert.deepEqual(lines, []);
const past: unknown[] = [];
for await (const { event, data } of client.tail('INVOICES', {
  since: '1m',
  past: true,
  target: { match: { 'user.id': '1' } },
})) {
  if (event === 'line') past.push(data.attributes.id);
}
assert.deepEqual(past, [1]);
const { failures } = await client.failures({ since: '1m' });
assert.deepEqual(
  failures.map(({ attributes, lines: counts }) => [attributes['user.id'], counts]),
  [['2', { INVOICES: 1 }]],
);
await rdcp.close();
