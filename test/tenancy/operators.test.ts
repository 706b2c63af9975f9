// In a process of its own: it switches categories of the process.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createRdcp } from '../../src/index.ts';
import { makeKey } from '../auth/records.ts';
import { type RunOptions, rdcp as run } from '../cli/run.ts';

describe('a key that may name some tenants', () => {
  const oncall = makeKey({
    id: 'oncall',
    userId: 'olga',
    clientId: 'oncall',
    scopes: ['discovery', 'control', 'tail'],
    tenants: ['acme', 'b*'],
  });
  const reader = makeKey({ id: 'reader', scopes: ['tail'], tenants: ['*'] });
  const bounded = makeKey({ id: 'bounded', clientId: 'bounded', scopes: ['admin'], tenants: ['acme'] });
  const everybody = makeKey({ id: 'everybody', scopes: ['tail'] });
  const admin = makeKey({ id: 'admin', userId: 'ada', clientId: 'admin', scopes: ['admin'] });
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

  it('must name one to switch or to measure, but logs in and reads health without', async () => {
    for (const args of [
      ['enable', 'ONCALL_POOL'],
      ['forecast', 'ONCALL_POOL', '--for', '1s'],
      ['end', '--all', '--yes'],
    ]) {
      const { code, stderr } = await as(oncall.key, args);
      assert.equal(code, 1);
      assert.match(stderr, /: --tenant is required: name one of the tenants of this credential \(acme, b\*\)/);
      assert.doesNotMatch(stderr, /X-RDCP/);
    }
    const session = await fetch(`${url}/rdcp/v1/session`, { headers: { 'X-RDCP-API-Key': oncall.key } });
    assert.equal(session.status, 200);
    assert.deepEqual((await session.json()).otelrdcp_tenants, ['acme', 'b*']);
    assert.equal((await as(oncall.key, ['health'])).code, 0);
  });

  it('lists without a tenant what its tenants inherit, with their calls, and nothing of another', async () => {
    await as(admin.key, ['enable', 'ONCALL_POOL', '--reason', 'for everybody']);
    await as(admin.key, ['disable', 'ONCALL_POOL', '--tenant', 'globex', '--reason', 'of globex']);
    await as(admin.key, ['enable', 'ONCALL_POOL', '-m', 'user.id=42', '--tenant', 'globex']);
    for (const [tenant, calls] of [
      ['acme', 2],
      ['bravo', 1],
      ['globex', 40],
    ] as const) {
      for (let call = 0; call < calls; call++) service.runWithTenant(tenant, () => category.debug('counted'));
    }
    const json = async (key: string, ...args: string[]) => (await as(key, [...args, '-o', 'json'])).stdout;
    for (const args of [['list'], ['status'], ['metrics'], ['tenants'], ['audit'], ['list', '--tenant', 'global']]) {
      for (const { key } of [oncall, bounded]) {
        assert.doesNotMatch(await json(key, ...args), /globex|for everybody|"userId": "ada"/, args.join(' '));
      }
    }
    const [pool] = JSON.parse(await json(oncall.key, 'list')).categories.filter(
      ({ name }: { name: string }) => name === 'ONCALL_POOL',
    );
    const { callsTotal: acme } = JSON.parse(await json(oncall.key, 'list', '--tenant', 'acme')).categories[0].metrics;
    const { callsTotal: bravo } = JSON.parse(await json(oncall.key, 'list', '--tenant', 'bravo')).categories[0].metrics;
    assert.deepEqual([pool.enabled, pool.metrics.callsTotal], [true, acme + bravo]);
    await as(admin.key, ['reset', 'ONCALL_POOL']);
    await as(admin.key, ['reset', 'ONCALL_POOL', '--tenant', 'globex']);
  });

  it('shows its tenants, and who switched what for them or with this key', async () => {
    await as(admin.key, ['enable', 'ONCALL_POOL', '--tenant', 'acme', '--reason', 'by an administrator']);
    await as(oncall.key, ['end', 'ONCALL_POOL', '--tenant', 'bravo']);
    await as(oncall.key, ['enable', 'ONCALL_POOL', '--tenant', 'globex', '--reason', 'refused']);
    const { stdout } = await as(oncall.key, ['tenants']);
    assert.match(stdout, /^acme +Acme/m);
    assert.doesNotMatch(stdout, /globex/);
    const { stdout: trail, code } = await as(oncall.key, ['audit']);
    assert.equal(code, 0);
    for (const entry of [/ada \(acme\) +enable/, /olga \(bravo\) +end/, /olga +authorize .*denied/])
      assert.match(trail, entry);
    const verified = await as(oncall.key, ['audit', 'verify']);
    assert.match(verified.stderr, /shows the trail of some tenants only/);
    for (const args of [['tenants'], ['audit']]) assert.equal((await as(reader.key, args)).code, 1);
    const ofAll = { headers: { 'X-RDCP-API-Key': bounded.key, 'X-RDCP-Tenant-ID': 'acme' } };
    assert.equal((await fetch(`${url}/rdcp/v1/notifications`, ofAll)).status, 403, 'although it has the scope admin');
    await as(admin.key, ['end', 'ONCALL_POOL', '--tenant', 'acme']);
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
