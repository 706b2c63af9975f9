// A firing notification switches a rule's categories on, for the lines that its filter names.

import assert from 'node:assert/strict';
import { service } from './service.ts';

const rule = {
  name: 'orders',
  match: { alertname: 'Fails' },
  enable: ['ORDERS'],
  for: '5m',
  filter: { where: 'rows > 1' },
};
const { rdcp, lines, post } = await service({ alerts: [rule] });
const orders = rdcp.category('ORDERS');
const notified = async (status: string) => {
  const labels = { alertname: 'Fails' };
  const [startsAt, endsAt] = [new Date().toISOString(), '0001-01-01T00:00:00Z'];
  const alerts = [{ status, labels, annotations: {}, startsAt, endsAt, generatorURL: '', fingerprint: 'f1' }];
  const about = { receiver: 'rdcp', groupLabels: labels, commonLabels: labels, commonAnnotations: {}, externalURL: '' };
  const body = { version: '4', groupKey: '{}:{alertname="Fails"}', truncatedAlerts: 0, status, ...about, alerts };
  const answer = await post('/rdcp/v1/alerts', body);
  assert.equal(answer.status, 200, await answer.text());
};
const placed = () => [1, 2].forEach((rows) => void orders.debug('placed', { rows }));
placed();
await notified('firing');
placed();
await notified('resolved');
placed();
assert.deepEqual(
  lines.map(({ attributes }) => attributes),
  [{ rows: 2 }],
);
await rdcp.close();
