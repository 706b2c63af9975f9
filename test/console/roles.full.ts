import assert from 'node:assert/strict';
import { hashApiKey } from '../../src/access/api-key.ts';
import { createRdcpClient } from '../../src/client.ts';
import { until } from '../support/until.ts';
import { go, rowOf, signIn } from './drive.ts';
import { beginIncident, keyOf, openScene } from './scene.ts';
import { assertAccessible, browserTest, KEY_RECORDS, KEYS, openPage, startService } from './support.ts';
import { openConsole, openIncident, openView, talk } from './views.ts';

// What each part of the page is to a reader of the screen, and what it says.

browserTest('each list is a table whose columns have names', async (t, browser) => {
  const { page } = await openIncident(t, browser);
  const heads = (name: string) => page.getByRole('table', { name }).getByRole('columnheader').allTextContents();
  const grid = page.getByRole('grid', { name: 'Categories' });
  assert.equal(await grid.getByRole('columnheader').count(), 8);
  const row = grid.getByRole('row', { name: /DATABASE/ });
  assert.equal(await row.getByRole('gridcell').count(), 7);
  assert.match(await row.getByRole('rowheader').innerText(), /^DATABASE/);
  assert.match(await row.textContent().then(String), /\d+ min left/);

  await go(page, '#/audit');
  await page.getByRole('row', { name: /ticket 4711/ }).waitFor();
  assert.deepEqual(await heads('Audit trail'), ['Time', 'Action', 'Categories', 'For whom', 'Change', 'Who', 'Reason']);
  const cells = page.getByRole('row', { name: /ticket 4711/ }).getByRole('cell');
  assert.equal(await cells.nth(3).textContent(), 'acme');
  await go(page, '#/fleet');
  await page
    .getByRole('row', { name: /shop-3 4205/ })
    .getByText('behind by 1')
    .waitFor();
  assert.deepEqual(await heads('Processes'), ['Host', 'Process', 'Version', 'Revision', 'Last seen', 'Started']);
  await go(page, '#/tenants');
  await page.getByRole('row', { name: /Acme/ }).getByText('PAYMENTS_CARD').waitFor();
  assert.equal((await heads('Tenants')).length, 4);
  await go(page, '#/categories/DATABASE');
  await page
    .getByRole('table', { name: 'Last changes' })
    .getByRole('row', { name: /slow checkout/ })
    .waitFor();
});

browserTest('the heads of columns sort, and say so', async (t, browser) => {
  const service = await startService(t);
  const cache = service.rdcp.category('CACHE');
  const orders = service.rdcp.category('ORDERS');
  const client = createRdcpClient({ baseUrl: service.url, apiKey: KEYS.admin });
  await client.enable('ORDERS', { duration: '5m' });
  await client.enable('CACHE', { duration: '1h' });
  talk(t, 50, () => {
    for (let call = 0; call < 5; call += 1) orders.debug('an order');
    cache.debug('hit');
  });
  const { page } = await openView(t, browser, service.console);
  const sortOf = (name: string) => page.getByRole('grid').getByRole('columnheader', { name }).getAttribute('aria-sort');
  const first = () => page.locator('[role=row][data-name]').first().getAttribute('data-name');
  assert.deepEqual([await sortOf('Category'), await sortOf('Calls')], ['ascending', null]);
  assert.equal(await first(), 'CACHE');
  await page.getByRole('columnheader', { name: 'Time left' }).getByRole('button').click();
  await until('what ends first is first', async () => (await first()) === 'ORDERS');
  assert.deepEqual([await sortOf('Category'), await sortOf('Time left')], [null, 'ascending']);
  await page.getByRole('columnheader', { name: 'Category' }).getByRole('button').press('Enter');
  await until('by name again', async () => (await first()) === 'CACHE');
  await page.getByRole('columnheader', { name: 'Calls' }).getByRole('button').click();
  assert.equal(await sortOf('Calls'), 'descending');
  await until('the one with the most calls is first', async () => (await first()) === 'ORDERS');
});

browserTest('who is signed in, with which scopes, and the way out are seen at once', async (t, browser) => {
  const service = await startService(t);
  const { page } = await openPage(t, browser, service.console);
  assert.equal(await page.title(), 'Debug control');
  assert.equal(await page.locator('html').getAttribute('lang'), 'en');
  await signIn(page, KEYS.operator);
  const head = page.getByRole('banner');
  await head.getByText('operator').first().waitFor();
  await head.getByText('discovery, status, control').first().waitFor();
  assert.match(await page.title(), /^Categories/);
  await head.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('API key').waitFor();
  assert.doesNotMatch(await page.content(), /CACHE|operator/);
  assert.equal(await page.title(), 'Debug control');
});

browserTest('a change that is not everywhere is an alert, and stays until it is dismissed', async (t, browser) => {
  const { page } = await openConsole(t, browser);
  await page.route('**/rdcp/v1/control', async (route) => {
    const response = await route.fetch();
    const fleet = { revision: 1, instances: 3, applied: 2, pending: ['11111111-2222-4333-8444-555555555555'] };
    const { otelrdcp_shared: _, ...answer } = await response.json();
    await route.fulfill({ response, json: { ...answer, status: 'partial', otelrdcp_fleet: fleet } });
  });
  await page
    .getByRole('row', { name: /CACHE/ })
    .getByRole('button', { name: /Enable/ })
    .click();
  const dialog = page.getByRole('dialog', { name: 'Enable CACHE' });
  assert.equal(await dialog.getByRole('radio', { name: '15 min' }).isChecked(), true);
  await dialog.getByRole('textbox', { name: 'Reason' }).fill('slow checkout');
  await dialog.getByRole('button', { name: 'Enable for 15 min' }).click();
  const alert = page.getByRole('alert').filter({ hasText: 'Partial' });
  await alert.getByText(/^Applied by 2 of 3 processes/).waitFor();
  await assertAccessible(page, 'a partial change');
  await alert.getByRole('button', { name: 'Dismiss' }).click();
  await alert.waitFor({ state: 'detached' });
});

browserTest('a tenant sees which categories are on for everybody and which for itself alone', async (t, browser) => {
  const key = 'acme-key-'.padEnd(40, 'a');
  const acme = {
    id: 'acme',
    hash: hashApiKey(key),
    clientId: 'acme',
    tenantId: 'acme',
    scopes: ['discovery', 'control'],
  };
  const service = await startService(t, {
    tenancy: { isolation: 'organization', tenants: { acme: {} } },
    security: { apiKeys: [...KEY_RECORDS, acme as (typeof KEY_RECORDS)[number]] },
  });
  const options = { baseUrl: service.url, apiKey: KEYS.admin };
  await createRdcpClient(options).enable('CACHE', { duration: '10m', reason: 'for all' });
  await createRdcpClient({ ...options, tenantId: 'acme' }).enable('ORDERS', { duration: '10m', reason: 'for one' });
  const { page } = await openView(t, browser, service.console, { key: key });
  const whom = (name: string) => rowOf(page, name).locator('.whom').textContent();
  await rowOf(page, 'ORDERS').getByText('for one').waitFor();
  assert.deepEqual([await whom('CACHE'), await whom('ORDERS')], ['everybody', 'acme']);
  const actions = (name: string) => rowOf(page, name).getByRole('button').allTextContents();
  assert.deepEqual(await actions('CACHE'), ['Disable…'], 'it cannot end what is for everybody');
  assert.deepEqual(await actions('ORDERS'), ['Extend…', 'End now…']);

  const { page: operator } = await openView(t, browser, service.console);
  await rowOf(operator, 'ORDERS').getByText('only acme').waitFor();
  await operator.getByRole('combobox', { name: 'Tenant' }).selectOption('acme');
  await rowOf(operator, 'ORDERS').getByText('for one').waitFor();
  assert.deepEqual(await rowOf(operator, 'CACHE').getByRole('button').allTextContents(), ['Disable…', '']);
});

browserTest('the newest lines are in sight, whatever banners stand above', async (t, browser) => {
  const scene = await openScene();
  t.after(() => scene.close());
  await beginIncident(scene);
  const { page } = await openPage(t, browser, scene.console, { viewport: { width: 1180, height: 720 } });
  await signIn(page, keyOf('alice'));
  await page
    .locator('.banner', { hasText: 'A change is not everywhere yet' })
    .getByText('pending: shop-3:4205')
    .waitFor();
  await go(page, '#/tail?categories=DATABASE');
  await page.getByRole('button', { name: 'Start' }).click();
  await until('lines', async () => {
    scene.speak();
    return (await page.getByRole('option').count()) > 10;
  });
  await page
    .getByRole('option', { name: /query done table=orders/ })
    .first()
    .waitFor();
  const bottom = await page.getByRole('listbox').evaluate((element) => element.getBoundingClientRect().bottom);
  assert.ok(bottom <= 720, `the list ends at ${bottom} of 720`);
});
