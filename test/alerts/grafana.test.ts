// Bodies as https://grafana.com/docs/grafana/v12.1/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/
// describes them.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { AlertsResponse } from '../../src/wire/alert-notification.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS } from '../../src/wire/constants.ts';
import { KEYS, startServer } from '../support/server.ts';
import { virtualTime } from '../support/virtual-time.ts';

const RULE = {
  name: 'orders',
  match: { alertname: 'Orders fail', route: '/orders*' },
  enable: ['DATABASE'],
  for: '15m',
};

test('an alert of Grafana switches on when it fires, and ends that when it is resolved', async (t) => {
  const time = virtualTime(Date.UTC(2026, 0, 1, 0, 1));
  const server = await startServer(t, { clock: time.clock, config: { alerts: [RULE] } });
  const post = async (status: 'firing' | 'resolved') => {
    const body = readFileSync(join(import.meta.dirname, `grafana-${status}.json`));
    // As Grafana sends the authorization of a contact point.
    const headers = { Authorization: `Bearer ${KEYS.alerts}` };
    const answer = await server.request<AlertsResponse>(PATHS.alerts, { method: 'POST', headers, body });
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const firing = await post('firing');
  assert.deepEqual([firing.matched, firing.switched.map(({ rule }) => rule)], [1, ['orders']]);
  assert.equal(server.plane.temporaryControls(), 1);
  await time.pass(60_000);
  assert.deepEqual((await post('firing')).switched, firing.switched);
  const resolved = await post('resolved');
  assert.deepEqual([resolved.matched, resolved.switched], [1, []]);
  assert.equal(server.plane.temporaryControls(), 0);
  const { body } = await server.request<AuditResponse>(PATHS.audit, { key: 'admin' });
  const subject = 'c6eadffa33fcdf37 alertname=Orders fail grafana_folder=shop route=/orders';
  assert.deepEqual(
    body.entries.map(({ action, reason }) => [action, reason]),
    [
      ['reset', `resolved: ${subject}`],
      ['enable', subject],
    ],
  );
});
