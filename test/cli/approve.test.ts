import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import { isRdcpError } from '../../src/wire/errors.ts';
import { makeKey } from '../auth/records.ts';
import { startServer } from '../support/server.ts';
import { rdcp } from './run.ts';

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
  const as = (key: string) => (args: readonly string[]) =>
    rdcp(args, { env: { RDCP_URL: server.url, RDCP_API_KEY: key } });
  const none = await as(owner.key)(['approve']);
  assert.deepEqual([none.code, none.stdout, none.stderr], [0, '', 'No change waits.\n']);
  const asked = await as(agent.key)(['enable', 'HTTP', '--for', '5m', '--rate', '7', '--reason', 'orders fail']);
  assert.equal(asked.code, 1);
  const [, id = ''] = /rdcp approve ([0-9a-f]{12})/.exec(asked.stderr) ?? [];
  assert.notEqual(id, '', asked.stderr);

  const listed = await as(owner.key)(['approve']);
  const [header = '', row = ''] = listed.stdout.split('\n');
  assert.deepEqual(header.split(/ {2,}/), ['ID', 'LEFT', 'WHO', 'CHANGE', 'WHY IT WAITS', 'REASON']);
  const [, left = '', who, change, , reason] = row.split(/ {2,}/);
  assert.match(left, /^9m \d+s$|^10m 0s$/);
  assert.deepEqual([who, change, reason], ['agent', 'enable HTTP for 5m budget={"callsPerSecond":7}', 'orders fail']);
  const onTerminal = await rdcp(['approve'], {
    env: { RDCP_URL: server.url, RDCP_API_KEY: owner.key, NO_COLOR: '1' },
    typed: '',
    columns: 80,
  });
  for (const line of onTerminal.stdout.split('\n')) assert.ok(line.length <= 80, line);
  assert.equal((await as(agent.key)(['approve', id])).code, 1);
  const approved = await as(owner.key)(['approve', id]);
  assert.equal(approved.code, 0, approved.stderr);
  assert.match(approved.stdout, /^Enabled HTTP until (?:\S+ )?\d\d:\d\d:\d\d(?:Z|[+-][\d:]+)\n$/);
  assert.equal(server.gate.category('HTTP').enabled, true);

  const client = createRdcpClient({ baseUrl: server.url, apiKey: owner.key });
  assert.deepEqual((await client.approvals()).waiting, []);
  assert.equal((await client.approve(id)).status, 'success', 'the answer is kept');
  await assert.rejects(
    client.approve('0123456789ab'),
    (error) => isRdcpError(error) && error.code === 'RDCP_NOT_FOUND',
  );
  const late = await as(owner.key)(['approve', id, '--decline']);
  assert.deepEqual([late.code, late.stdout], [1, approved.stdout], 'what was approved is not taken back');
});
