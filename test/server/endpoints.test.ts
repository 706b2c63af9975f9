import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { hashApiKey } from '../../src/access/api-key.ts';
import { createRdcp } from '../../src/assembly/rdcp.ts';
import type { RdcpConfig } from '../../src/options/options.ts';
import type { WellKnownDocument } from '../../src/wire/messages.ts';

const KEY = 'k'.repeat(40);

test('otelrdcp_endpoints names the list of processes exactly where it answers', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'rdcp-endpoints-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const tenancies: readonly RdcpConfig['tenancy'][] = [
    false,
    { isolation: 'global' },
    { isolation: 'process' },
    { isolation: 'namespace', namespace: 'shop' },
    { isolation: 'organization' },
  ];
  const named = [];
  for (const store of ['memory:', `sqlite:${join(folder, 'state.sqlite')}`]) {
    for (const tenancy of tenancies) {
      const apiKeys = [{ id: 'key', hash: hashApiKey(KEY), clientId: 'ops', scopes: ['status' as const] }];
      const rdcp = createRdcp({ server: { port: 0 }, store, tenancy, security: { apiKeys } });
      const { url } = await rdcp.listen();
      const document = (await (await fetch(`${url}/.well-known/rdcp`)).json()) as WellKnownDocument;
      const { status } = await fetch(`${url}/rdcp/v1/fleet`, { headers: { 'X-RDCP-API-Key': KEY } });
      const { fleet } = document.otelrdcp_endpoints ?? {};
      assert.equal(fleet, status === 200 ? '/rdcp/v1/fleet' : undefined, `${store} ${JSON.stringify(tenancy)}`);
      named.push(fleet);
      await rdcp.close();
    }
  }
  assert.equal(named.filter(Boolean).length, 4);
});
