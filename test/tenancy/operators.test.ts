// In a process of its own: it switches categories of the process.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createRdcp } from '../../src/index.ts';
import { makeKey } from '../auth/records.ts';
import { type RunOptions, rdcp as run } from '../cli/run.ts';

describe('a key that may name some tenants', () => {
  const oncall = makeKey({ id: 'oncall', scopes: ['discovery', 'control', 'tail'], tenants: ['acme', 'b*'] });
  const reader = makeKey({ id: 'reader', scopes: ['tail'], tenants: ['*'] });
  const bounded = makeKey({ id: 'bounded', scopes: ['admin'], tenants: ['acme'] });
  const everybody = makeKey({ id: 'everybody', scopes: ['tail'] });
  const admin = makeKey({ id: 'admin', scopes: ['admin'] });
  const service = createRdcp({
    server: { port: 0 },
    security: { apiKeys: [oncall, reader, bounded, everybody, admin].map(({ record }) => record) },
    tenancy: { isolation: 'organization', tenants: { acme: { name: 'Acme' } } },
    announce: false,
  });
  const category = service.category('ONCALL_POOL');
  let url = '';
  before(async () => {
    url = (await service.listen()).url;
  });
  after(() => service.close());
  const as = (key: string, args: string[], options: RunOptions = {}) =>
    run([...args, '--url', url], { ...options, env: { RDCP_API_KEY: key, ...options.env } });

  it('switches these without admin, and no other', async () => {
    for (const tenant of ['acme', 'bravo']) {
      assert.equal((await as(oncall.key, ['enable', 'ONCALL_POOL', '--tenant', tenant])).code, 0);
      assert.equal(
        service.runWithTenant(tenant, () => category.enabled),
        true,
      );
      assert.match((await as(oncall.key, ['list', '--tenant', tenant])).stdout, /^ONCALL_POOL +on /m);
      assert.equal((await as(oncall.key, ['end', 'ONCALL_POOL', '--tenant', tenant])).code, 0);
    }
    const other = await as(oncall.key, ['enable', 'ONCALL_POOL', '--tenant', 'globex']);
    assert.deepEqual([other.code, /RDCP_FORBIDDEN/.test(other.stderr)], [1, true]);
  });

  it('must name one, but logs in and reads health without', async () => {
    for (const args of [['list'], ['enable', 'ONCALL_POOL'], ['list', '--tenant', 'global']]) {
      const { code, stderr } = await as(oncall.key, args);
      assert.equal(code, 1);
      assert.match(
        stderr,
        /X-RDCP-Tenant-ID is required: name one of the tenants of this credential \(acme, b\*\) .*--tenant/,
      );
    }
    const session = await fetch(`${url}/rdcp/v1/session`, { headers: { 'X-RDCP-API-Key': oncall.key } });
    assert.equal(session.status, 200);
    assert.deepEqual((await session.json()).otelrdcp_tenants, ['acme', 'b*']);
    assert.equal((await as(oncall.key, ['health'])).code, 0);
  });

  it('sees nothing of all tenants, although it has the scope admin', async () => {
    const settings = { 'X-RDCP-API-Key': bounded.key, 'X-RDCP-Tenant-ID': 'acme' };
    const ask = (path: string) => fetch(`${url}/rdcp/v1/${path}`, { headers: settings });
    assert.equal((await ask('notifications')).status, 403);
    assert.equal((await as(admin.key, ['enable', 'ONCALL_POOL', '--tenant', 'globex'])).code, 0);
    for (const path of ['discovery', 'status', 'audit', 'tenants']) {
      const answer = await ask(path);
      assert.equal(answer.status, 200, path);
      assert.doesNotMatch(await answer.text(), /globex/, path);
    }
    assert.equal((await as(admin.key, ['end', 'ONCALL_POOL', '--tenant', 'globex'])).code, 0);
  });

  it('reads lines with the scope tail alone, and does nothing else with it', async () => {
    const over = new AbortController();
    let noted = '';
    const tailing = as(reader.key, ['tail', 'ONCALL_POOL', '--tenant', 'acme', '--lines', '1'], {
      interrupted: over.signal,
      noted: (text) => {
        noted += text;
        const speak = () => service.runWithTenant('acme', () => category.debug('hello', { password: 'x' }));
        if (/Tailing/.test(noted)) setTimeout(speak, 300).unref();
      },
    });
    const { stdout } = await tailing;
    assert.match(stdout, /hello.*\[redacted\]/);
    assert.equal((await as(reader.key, ['forecast', 'ONCALL_POOL', '--for', '1s', '--tenant', 'acme'])).code, 0);
    for (const args of [['list'], ['enable', 'ONCALL_POOL'], ['tail', 'ONCALL_POOL', '--also-log']]) {
      const { code, stderr } = await as(reader.key, [...args, '--tenant', 'acme']);
      assert.equal(code, 1, args.join(' '));
      assert.match(stderr, /RDCP_FORBIDDEN/, args.join(' '));
    }
    const all = await as(everybody.key, ['tail', 'ONCALL_POOL']);
    assert.match(all.stderr, /RDCP_FORBIDDEN: To see the calls of all tenants needs the scope admin/);
  });

  it('tail and forecast suggest a tenant, and completion offers those that there are', async () => {
    const { stderr } = await as(admin.key, ['tail', 'ONCALL_POOL', '--tenant', 'acmee', '--for', '1s']);
    assert.match(stderr, /did you mean acme\?/);
    const forecast = await as(admin.key, ['forecast', 'ONCALL_POOL', '--tenant', 'acmee', '--for', '1s']);
    assert.match(forecast.stderr, /did you mean acme\?/);
    const offered = await run(['__complete', 'list', '--url', url, '--tenant', 'a'], {
      env: { RDCP_API_KEY: admin.key },
    });
    assert.match(offered.stdout, /^acme\tAcme$/m);
  });
});
