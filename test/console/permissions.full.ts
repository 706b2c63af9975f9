import assert from 'node:assert/strict';
import { hashApiKey } from '../../src/access/api-key.ts';
import { createRdcpClient } from '../../src/client.ts';
import { go, rowOf, waitForState } from './drive.ts';
import { assertAccessible, browserTest, KEY_RECORDS, KEYS } from './support.ts';
import { openConsole, openView } from './views.ts';

browserTest('a view that a credential may not use is not offered, and a link to it says why', async (t, browser) => {
  const { page } = await openConsole(t, browser, { key: KEYS.reader });
  await rowOf(page, 'CACHE').waitFor();
  assert.equal(await page.getByRole('button', { name: /Enable|Disable/ }).count(), 0);
  assert.equal(await page.getByRole('checkbox').count(), 0);
  const views = await page.getByRole('navigation', { name: 'Views' }).getByRole('link').allTextContents();
  assert.deepEqual(views, ['Categories', 'Health']);
  for (const [view, text] of [
    ['tail', /may not read lines/],
    ['audit', /needs the scope admin/],
    ['tenants', /has no tenants/],
    ['fleet', /stands alone/],
  ] as const) {
    await go(page, `#/${view}`);
    await page.locator('main').getByText(text).waitFor();
    await assertAccessible(page, view);
  }
});

browserTest('a credential that may not list categories sees why, and waits for nothing', async (t, browser) => {
  const { page } = await openConsole(t, browser, { key: KEYS.switcher });
  for (const route of ['#/categories', '#/categories/ORDERS']) {
    await go(page, route);
    await page.locator('main').getByText('The list of categories needs the scope discovery').waitFor();
    await page.locator('main').getByText('Your credential has control.').waitFor();
    assert.equal(await page.getByText(/Connecting|Loading/).count(), 0);
    await assertAccessible(page, route);
  }
});

browserTest('a key that may do little is offered that, and no more', async (t, browser) => {
  const key = 'agent-key-'.padEnd(40, 'a');
  const allow = { categories: ['ORD*', 'CACHE'], actions: ['enable', 'reset'], maxDuration: '15m' } as const;
  const scopes = ['discovery', 'control'] as const;
  const agent = { id: 'agent', hash: hashApiKey(key), clientId: 'agent', scopes, allow };
  const { page } = await openConsole(t, browser, {
    config: { security: { apiKeys: [...KEY_RECORDS, agent] } },
    key: key,
  });
  assert.equal(await rowOf(page, 'DATABASE').getByRole('button').count(), 0);
  await rowOf(page, 'ORDERS').getByRole('button', { name: 'Enable ORDERS' }).click();
  const times = page.getByRole('dialog').getByRole('radio');
  assert.deepEqual(await times.evaluateAll((radios) => radios.map((radio) => radio.getAttribute('value'))), [
    '5m',
    '15m',
    'other',
  ]);
  await page.getByRole('button', { name: 'Enable for 15 min' }).click();
  await rowOf(page, 'ORDERS').getByRole('button', { name: 'Extend ORDERS' }).waitFor();
  await rowOf(page, 'ORDERS').getByRole('button', { name: 'End now ORDERS' }).waitFor();
  await go(page, '#/categories/ORDERS');
  await page.getByRole('button', { name: 'Extend…' }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Toggle…' }).count(), 0);
  assert.equal(await page.getByRole('button', { name: 'Tail' }).count(), 0);
});

browserTest('a key with a list of tenants chooses one of them, and switches it alone', async (t, browser) => {
  const keyOf = (name: string) => `${name}-key-`.padEnd(40, 'k');
  const keyFor = (name: string, more: object) => ({
    ...{ id: name, hash: hashApiKey(keyOf(name)), clientId: name, scopes: ['discovery', 'control'] as const, ...more },
  });
  const apiKeys = [...KEY_RECORDS, keyFor('oncall', { tenants: ['acme', 'b*'] }), keyFor('guest', {})];
  const { page, ...service } = await openConsole(t, browser, {
    config: { security: { apiKeys }, tenancy: { isolation: 'organization', tenants: { acme: {}, globex: {} } } },
    key: keyOf('oncall'),
  });
  await page.getByText('Your credential switches tenants only: choose one.').waitFor();
  const choice = page.getByRole('combobox', { name: 'Tenant' });
  await choice.selectOption('acme');
  await page.getByRole('button', { name: 'Enable CACHE' }).click();
  await page.getByRole('button', { name: 'Enable for acme for 15 min' }).click();
  await page.getByText('On for acme: CACHE', { exact: true }).waitFor();
  const { tenants } = await service.client.tenants();
  assert.deepEqual(
    tenants.map(({ id, categories }) => [id, categories.CACHE]),
    [
      ['acme', true],
      ['globex', false],
    ],
  );
  await go(page, '#/tenants');
  await page.getByRole('table', { name: 'Tenants' }).getByText('acme').waitFor();
  assert.equal(await page.getByText('globex').count(), 0);

  const { page: other } = await openView(t, browser, service.console, { key: keyOf('guest') });
  await other.getByText('Your credential has no scope admin, so it cannot switch what all tenants inherit.').waitFor();
  assert.equal(await other.getByRole('combobox', { name: 'Tenant' }).count(), 0);
});

browserTest('a change that waits is shown to administrators, who approve or decline it', async (t, browser) => {
  const key = (name: string) => `${name}-key-`.padEnd(40, 'k');
  const mayDo = (name: string, scope: 'control' | 'admin') => ({
    id: name,
    hash: hashApiKey(key(name)),
    clientId: name,
    scopes: ['discovery', scope] as const,
    allow: { categories: ['CACHE'] },
    approval: true,
  });
  const apiKeys = [...KEY_RECORDS, mayDo('agent', 'control'), mayDo('deputy', 'admin')];
  const { page, ...service } = await openConsole(t, browser, { config: { security: { apiKeys } } });
  const ask = (name: string, reason: string) =>
    createRdcpClient({ baseUrl: service.url, apiKey: key(name) })
      .enable('DATABASE', { duration: '20m', reason })
      .catch(() => undefined);

  await ask('agent', 'orders fail');
  const banner = page.locator('.banner', { hasText: 'agent asks for an approval' });
  await banner.getByText('enable DATABASE duration=1200').waitFor();
  await banner.getByText('orders fail').waitFor();
  await assertAccessible(page, 'a change waits');
  await banner.getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('region', { name: 'Answers' }).getByText('On: DATABASE').waitFor();
  await waitForState(page, 'DATABASE', 'On');
  await banner.waitFor({ state: 'detached' });

  // Who asked cannot approve, with whatever scopes.
  const { page: own } = await openView(t, browser, service.console, { key: key('deputy') });
  await ask('deputy', 'my own');
  const ofDeputy = own.locator('.banner', { hasText: 'my own' });
  await ofDeputy.getByText('Another user has to approve it.').waitFor();
  assert.equal(await ofDeputy.getByRole('button').count(), 0);

  // Nor does anybody approve what is beyond the own key: the page says why, and the change waits on.
  await ask('agent', 'beyond the deputy');
  const beyond = own.locator('.banner', { hasText: 'beyond the deputy' });
  await beyond.getByRole('button', { name: 'Approve' }).click();
  await own
    .getByRole('alert')
    .getByText(/must match CACHE/)
    .waitFor();
  await assertAccessible(own, 'an approval that is refused');
  await beyond.getByRole('button', { name: 'Decline' }).click();
  await own.getByRole('region', { name: 'Answers' }).getByText('Declined by deputy').waitFor();
  await beyond.waitFor({ state: 'detached' });
  assert.deepEqual((await service.client.approvals()).waiting.length, 1, 'that of the deputy waits on');
});
