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
  const { service, rdcp, says } = realService({ tenancy }, [admin, reader]);
  const category = service.category('TEN_POOL');
  service.category('TEN_CACHE');

  afterEach(async () => {
    for (const tenant of ['acme', 'globex', 'initech']) await says(`reset --all --yes --tenant ${tenant}`);
    await says('reset --all --yes');
  });

  it('list, status and watch show it as on, for the tenant', async () => {
    await says('enable TEN_POOL --tenant acme');
    await says('list', /^TEN_POOL +on +acme, 1[45]m \d+s /m);
    await says('status', /^TEN_POOL +on +acme, 1[45]m \d+s$/m);
    await says('enable TEN_POOL --permanent --tenant acme');
    await says('list', /^TEN_POOL +on +acme, permanent /m);
    for (const tenant of ['globex', 'initech']) await says(`enable TEN_POOL --tenant ${tenant}`);
    await says('list', /^TEN_POOL +on +3 tenants /m);
    const { otelrdcp_settings: settings } = JSON.parse((await says('list --json')).stdout).categories[1];
    assert.deepEqual([settings.temporary, settings.permanent, settings.more], [2, 1, 0]);
    const { control, ...acme } = settings.tenants[0];
    assert.deepEqual(acme, { id: 'acme', enabled: true, temporary: false });
    assert.equal(control.userId, 'ops');
  });

  it('watch says for which tenant it was switched on, and off', async () => {
    const over = new AbortController();
    let shown = '';
    const watching = rdcp(['watch', 'TEN_*'], { interrupted: over.signal, heard: (text) => (shown += text) });
    await says('enable TEN_CACHE');
    await until('a line of the other category', () => /TEN_CACHE on for/.test(shown));
    await says('enable TEN_POOL --tenant acme');
    await until('a line of the tenant', () => /TEN_POOL on for acme, 1[45]m/.test(shown));
    await says('end TEN_POOL --tenant acme');
    await until('its end', () => /TEN_POOL off/.test(shown));
    over.abort();
    await watching;
  });

  it('a permanent off for a tenant is a row where everybody has it on, and the answer says that it stays', async () => {
    await says('enable TEN_POOL --tenant acme --for 1m');
    await says(
      'disable TEN_POOL --tenant acme',
      /^TEN_POOL stays off for acme when switched on for everybody, until a reset removes the setting.*: rdcp reset TEN_POOL --tenant acme$/m,
    );
    await says(
      'disable TEN_POOL --tenant acme --json',
      /"message": "Disabled TEN_POOL; TEN_POOL stays off for acme when switched on for everybody/,
    );
    await says('list', /^(?!.*acme)/s);
    await says('enable TEN_POOL');
    await says('list', /^TEN_POOL +on +1[45]m \d+s .*\nTEN_POOL +off +acme, permanent$/m);
    await says('tenants', /^acme +- +- +TEN_POOL +0 /m);
    await says('disable TEN_POOL', /^(?!.*stays off)/s);
  });

  it('end leaves no setting, and keeps a permanent one', async () => {
    await says('enable TEN_POOL --tenant acme');
    await says('end TEN_POOL --tenant acme', /^TEN_POOL off$/m);
    await says('enable TEN_POOL');
    assert.ok(service.runWithTenant('acme', () => category.enabled));
    await says('enable TEN_POOL --permanent');
    await says('disable TEN_POOL --for 5m');
    await says('end TEN_POOL', /^TEN_POOL on$/m, {
      err: /^Still on, by a permanent setting or by default: TEN_POOL; to switch off: rdcp disable TEN_POOL/m,
    });
    const newest = JSON.parse((await says('audit -o json')).stdout).entries[0];
    assert.deepEqual([newest.action, newest.otelrdcp_only], ['reset', 'temporary']);
  });

  it('ending it for everybody says for which tenant it is still on', async () => {
    await says('enable TEN_POOL --tenant acme');
    for (const verb of ['end', 'disable', 'reset']) {
      const err = new RegExp(`^TEN_POOL is still on for acme, .*: rdcp ${verb} TEN_POOL --tenant ID$`, 'm');
      await says(`${verb} TEN_POOL`, undefined, { err });
    }
  });

  it('is shown as before to who may not list tenants', async () => {
    await says('enable TEN_POOL --tenant acme');
    await says('list --json', /^(?!.*(?:acme|otelrdcp_settings))/s, { env: { RDCP_API_KEY: reader.key } });
  });

  it('reset --all and end --all ask first', async () => {
    for (const verb of ['reset', 'end']) {
      await says(`${verb} --all`, '', { code: 2, err: 'rdcp: --all needs --yes without a terminal\n' });
      const err = new RegExp(`${verb} every category\\? \\[y/N\\]`);
      await says(`${verb} --all`, undefined, { typed: 'n\n', code: 1, err });
      await says(`${verb} --all`, undefined, { typed: 'y\n' });
    }
  });
});
