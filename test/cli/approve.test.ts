import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import { makeKey } from '../auth/records.ts';
import { startServer } from '../support/server.ts';
import { rdcp, saying } from './run.ts';

const agent = makeKey({
  id: 'agent',
  clientId: 'agent',
  scopes: ['discovery', 'control'],
  allow: { categories: ['DB_*'] },
  approval: true,
});
const owner = makeKey({ id: 'owner', clientId: 'owner', scopes: ['admin'] });

test('a change that an agent may not make is listed, approved by its id, and made', async (t) => {
  const server = await startServer(t, { config: { security: { apiKeys: [agent.record, owner.record] } } });
  const says = saying(rdcp);
  const [asOwner, asAgent] = [owner, agent].map(({ key }) => ({ env: { RDCP_URL: server.url, RDCP_API_KEY: key } }));
  await says('approve', '', { ...asOwner, err: 'No change waits.\n' });
  const asked = await says("enable HTTP --for 5m --rate 7 --reason 'orders fail'", '', { ...asAgent, code: 1 });
  const [, id = ''] = /rdcp approve ([0-9a-f]{12})/.exec(asked.stderr) ?? [];
  assert.notEqual(id, '', asked.stderr);

  const listed = await says('approve', undefined, asOwner);
  const [header = '', row = ''] = listed.stdout.split('\n');
  assert.deepEqual(header.split(/ {2,}/), ['ID', 'LEFT', 'WHO', 'CHANGE', 'WHY IT WAITS', 'REASON']);
  const [, left = '', who, change, , reason] = row.split(/ {2,}/);
  assert.match(left, /^9m \d+s$|^10m 0s$/);
  assert.deepEqual([who, change, reason], ['agent', 'enable HTTP for 5m budget={"callsPerSecond":7}', 'orders fail']);
  const env = { ...asOwner?.env, NO_COLOR: '1' };
  const onTerminal = await says('approve', undefined, { env, typed: '', columns: 80 });
  for (const line of onTerminal.stdout.split('\n')) assert.ok(line.length <= 80, line);
  await says(`approve ${id}`, '', { ...asAgent, code: 1 });
  const enabled = /^Enabled HTTP until (?:\S+ )?\d\d:\d\d:\d\d(?:Z|[+-][\d:]+)\n$/;
  const approved = await says(`approve ${id}`, enabled, asOwner);
  assert.equal(server.gate.category('HTTP').enabled, true);

  const client = createRdcpClient({ baseUrl: server.url, apiKey: owner.key });
  assert.deepEqual((await client.approvals()).waiting, []);
  assert.equal((await client.approve(id)).status, 'success', 'the answer is kept');
  await assert.rejects(client.approve('0123456789ab'), { code: 'RDCP_NOT_FOUND' });
  // What was approved is not taken back.
  await says(`approve ${id} --decline`, approved.stdout, { ...asOwner, code: 1 });
});
