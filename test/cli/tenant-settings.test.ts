// In a process of its own: it switches categories of the process.

import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { makeKey } from '../auth/records.ts';
import { until } from '../support/until.ts';
import { realService } from './service.ts';

describe('a category that tenants have on or off by a setting of their own', () => {
  const admin = makeKey({ id: 'admin', scopes: ['admin'] });
  const reader = makeKey({ id: 'reader', scopes: ['discovery', 'control'] });
  const tenancy = { isolation: 'organization', tenants: { globex: { name: 'Globex' } } } as const;
  const { service, rdcp } = realService({ tenancy }, [admin, reader]);
  const category = service.category('TEN_POOL');
  service.category('TEN_CACHE');
  const clear = async () => {
    for (const tenant of ['acme', 'globex', 'initech']) await rdcp(['reset', '--all', '--yes', '--tenant', tenant]);
    await rdcp(['reset', '--all', '--yes']);
  };

  afterEach(clear);

  it('list, status and watch show it as on, for the tenant', async () => {
    await rdcp(['enable', 'TEN_POOL', '--tenant', 'acme']);
    assert.match((await rdcp(['list'])).stdout, /^TEN_POOL +on +acme, 1[45]m \d+s /m);
    assert.match((await rdcp(['status'])).stdout, /^TEN_POOL +on +acme, 1[45]m \d+s$/m);
    await rdcp(['enable', 'TEN_POOL', '--permanent', '--tenant', 'acme']);
    assert.match((await rdcp(['list'])).stdout, /^TEN_POOL +on +acme, permanent /m);
    for (const tenant of ['globex', 'initech']) await rdcp(['enable', 'TEN_POOL', '--tenant', tenant]);
    assert.match((await rdcp(['list'])).stdout, /^TEN_POOL +on +3 tenants /m);
    const { otelrdcp_settings: settings } = JSON.parse((await rdcp(['list', '--json'])).stdout).categories[1];
    assert.deepEqual([settings.temporary, settings.permanent, settings.more], [2, 1, 0]);
    const { control, ...acme } = settings.tenants[0];
    assert.deepEqual(acme, { id: 'acme', enabled: true, temporary: false });
    assert.equal(control.userId, 'ops');
  });

  it('watch says for which tenant it was switched on, and off', async () => {
    const over = new AbortController();
    let shown = '';
    const watching = rdcp(['watch', 'TEN_*'], { interrupted: over.signal, heard: (text) => (shown += text) });
    await rdcp(['enable', 'TEN_CACHE']);
    await until('a line of the other category', () => /TEN_CACHE on for/.test(shown));
    await rdcp(['enable', 'TEN_POOL', '--tenant', 'acme']);
    await until('a line of the tenant', () => /TEN_POOL on for acme, 1[45]m/.test(shown));
    await rdcp(['end', 'TEN_POOL', '--tenant', 'acme']);
    await until('its end', () => /TEN_POOL off/.test(shown));
    over.abort();
    await watching;
  });

  it('a permanent off for a tenant is a row where everybody has it on, and the answer says that it stays', async () => {
    await rdcp(['enable', 'TEN_POOL', '--tenant', 'acme', '--for', '1m']);
    const { stdout } = await rdcp(['disable', 'TEN_POOL', '--tenant', 'acme']);
    assert.match(
      stdout,
      /^TEN_POOL stays off for acme when switched on for everybody, until a reset removes the setting/m,
    );
    assert.match(stdout, /: rdcp reset TEN_POOL --tenant acme$/m);
    const { message } = JSON.parse((await rdcp(['disable', 'TEN_POOL', '--tenant', 'acme', '--json'])).stdout);
    assert.match(message, /^Disabled TEN_POOL; TEN_POOL stays off for acme when switched on for everybody/);
    assert.doesNotMatch((await rdcp(['list'])).stdout, /acme/);
    await rdcp(['enable', 'TEN_POOL']);
    const listed = (await rdcp(['list'])).stdout;
    assert.match(listed, /^TEN_POOL +on +1[45]m \d+s .*\nTEN_POOL +off +acme, permanent$/m);
    assert.match((await rdcp(['tenants'])).stdout, /^acme +- +- +TEN_POOL +0 /m);
    assert.doesNotMatch((await rdcp(['disable', 'TEN_POOL'])).stdout, /stays off/);
  });

  it('end leaves no setting, and keeps a permanent one', async () => {
    await rdcp(['enable', 'TEN_POOL', '--tenant', 'acme']);
    const ended = await rdcp(['end', 'TEN_POOL', '--tenant', 'acme']);
    assert.equal(ended.code, 0);
    assert.match(ended.stdout, /^TEN_POOL off$/m);
    await rdcp(['enable', 'TEN_POOL']);
    assert.equal(
      service.runWithTenant('acme', () => category.enabled),
      true,
    );
    await rdcp(['enable', 'TEN_POOL', '--permanent']);
    await rdcp(['disable', 'TEN_POOL', '--for', '5m']);
    const { stdout, stderr } = await rdcp(['end', 'TEN_POOL']);
    assert.match(stdout, /^TEN_POOL on$/m);
    assert.match(
      stderr,
      /^Still on, by a permanent setting or by default: TEN_POOL; to switch off: rdcp disable TEN_POOL/m,
    );
    const newest = JSON.parse((await rdcp(['audit', '-o', 'json'])).stdout).entries[0];
    assert.deepEqual([newest.action, newest.otelrdcp_only], ['reset', 'temporary']);
  });

  it('ending it for everybody says for which tenant it is still on', async () => {
    await rdcp(['enable', 'TEN_POOL', '--tenant', 'acme']);
    for (const verb of ['end', 'disable', 'reset']) {
      const { stderr } = await rdcp([verb, 'TEN_POOL']);
      assert.match(stderr, new RegExp(`^TEN_POOL is still on for acme, .*: rdcp ${verb} TEN_POOL --tenant ID$`, 'm'));
    }
  });

  it('is shown as before to who may not list tenants', async () => {
    await rdcp(['enable', 'TEN_POOL', '--tenant', 'acme']);
    const { stdout } = await rdcp(['list', '--json'], { env: { RDCP_API_KEY: reader.key } });
    assert.doesNotMatch(stdout, /acme|otelrdcp_settings/);
  });

  it('reset --all and end --all ask first', async () => {
    for (const verb of ['reset', 'end']) {
      const alone = await rdcp([verb, '--all']);
      assert.deepEqual([alone.code, alone.stderr], [2, 'rdcp: --all needs --yes without a terminal\n']);
      const refused = await rdcp([verb, '--all'], { typed: 'n\n' });
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, new RegExp(`${verb} every category\\? \\[y/N\\]`));
      assert.equal((await rdcp([verb, '--all'], { typed: 'y\n' })).code, 0);
    }
  });
});
