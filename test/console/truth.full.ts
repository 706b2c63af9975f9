import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { createRdcpClient, type RdcpClient } from '../../src/client.ts';
import { whomOf } from '../../src/wire/words/state.ts';
import { until } from '../support/until.ts';
import { go, rowOf } from './drive.ts';
import { assertAccessible, browserTest, KEYS, startService } from './support.ts';
import { NOTES, openConsole, openView, ROWS, startFleet, startTail, talk } from './views.ts';

// What the page says about tenants and activations is what the endpoint says, after each kind of change.

const TENANTS = ['acme', 'globex', 'initech'];

type Change = readonly [what: string, change: (client: RdcpClient) => Promise<unknown>];

const CHANGES: readonly Change[] = [
  ['enable for a while', (client) => client.enable('CACHE', { duration: '10m', reason: 'slow' })],
  ['end', (client) => client.reset('CACHE', { otelrdcp_only: 'temporary' })],
  ['enable permanently', (client) => client.enable('CACHE', { temporary: false })],
  ['disable', (client) => client.disable('CACHE', { temporary: false })],
  ['toggle', (client) => client.toggle('CACHE', { duration: '5m' })],
  ['reset', (client) => client.reset('CACHE')],
  ['activate', (client) => client.enable('CACHE', { duration: '5m', otelrdcp_target: { match: { 'user.id': '42' } } })],
  ['end an activation', (client) => client.disable('CACHE')],
  ['reset after it', (client) => client.reset('CACHE')],
];

browserTest('rows and tenants are what the API says after each change', async (t, browser) => {
  const service = await startService(t, {
    tenancy: { isolation: 'organization', tenants: Object.fromEntries(TENANTS.map((id) => [id, {}])) },
    limits: { controlPerMinute: 10_000, readPerMinute: 10_000 },
  });
  const everybody = createRdcpClient({ baseUrl: service.url, apiKey: KEYS.admin });
  const acme = createRdcpClient({ baseUrl: service.url, apiKey: KEYS.admin, tenantId: 'acme' });
  const globex = createRdcpClient({ baseUrl: service.url, apiKey: KEYS.admin, tenantId: 'globex' });
  const { page } = await openView(t, browser, service.console);
  for (const [whose, client] of [
    ['everybody', everybody],
    ['acme', acme],
    ['globex', globex],
  ] as const) {
    for (const [what, change] of CHANGES) {
      await go(page, '#/categories');
      await change(client);
      await rowIsTrue(page, everybody, `${whose}: ${what}`);
      await go(page, '#/tenants');
      await tenantsAreTrue(page, everybody, `${whose}: ${what}`);
    }
    // The next ones begin with a setting of this one.
    await client.enable('CACHE', { duration: '1h' });
  }
});

async function rowIsTrue(page: Page, client: RdcpClient, what: string): Promise<void> {
  await until(`the row is as the API says after ${what}`, async () => {
    const category = (await client.discovery()).categories.find(({ name }) => name === 'CACHE');
    if (category === undefined) return false;
    const row = rowOf(page, 'CACHE');
    const whom = await row.locator('.cell.whom').textContent();
    const badge = await row.locator('.cell.state').textContent();
    const settings = category.otelrdcp_settings;
    const some = (settings?.temporary ?? 0) + (settings?.permanent ?? 0) + (category.otelrdcp_activations?.length ?? 0);
    return whom === whomOf(category, 'everybody') && badge === (category.enabled ? 'On' : some > 0 ? 'Partly' : 'Off');
  });
}

async function tenantsAreTrue(page: Page, client: RdcpClient, what: string): Promise<void> {
  await until(`the tenants are as the API says after ${what}`, async () => {
    const { tenants } = await client.tenants();
    for (const { id, categories } of tenants) {
      const table = page.getByRole('table', { name: 'Tenants', exact: true });
      const cell = table.getByRole('row').filter({ hasText: id }).getByRole('cell').nth(1);
      const on = Object.values(categories).filter(Boolean).length;
      if (!(await cell.textContent())?.startsWith(`${on} on`)) return false;
    }
    return true;
  });
}

browserTest('what is on for tenants only shows end, who and why, and each can be ended', async (t, browser) => {
  const service = await startService(t, {
    tenancy: { isolation: 'organization', tenants: { acme: {}, globex: {} } },
  });
  const clientOf = (tenantId?: string) =>
    createRdcpClient({ baseUrl: service.url, apiKey: KEYS.admin, ...(tenantId !== undefined && { tenantId }) });
  await clientOf('acme').enable('CACHE', { duration: '10m', reason: 'ticket 4711' });
  const { page } = await openView(t, browser, service.console);
  const until = rowOf(page, 'CACHE').locator('.cell.until');
  await until.getByText(/^(9:5\d|10:00)$/).waitFor();
  await until.getByText('admin: ticket 4711').waitFor();

  await clientOf('globex').enable('CACHE', { duration: '5m', reason: 'theirs' });
  await until.getByText('the first of 2').waitFor();
  await until.getByText(/^(4:5\d|5:00)$/).waitFor();

  await go(page, '#/categories/CACHE');
  const parts = page.getByRole('table', { name: 'Tenants and work' });
  await parts.getByText('admin: theirs').waitFor();
  await assertAccessible(page, 'what it is on for');
  await page.getByRole('button', { name: 'End for globex' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'End now for globex' }).click();
  await parts.getByText('globex').waitFor({ state: 'detached' });
  await parts.getByText('acme').waitFor();
});

browserTest('an activation is made in the dialog, shown for whom, and ended alone', async (t, browser) => {
  const { page, client } = await openConsole(t, browser);
  await page.getByRole('button', { name: 'Enable CACHE' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Only some work or lines').click();
  await dialog.getByLabel('Work with', { exact: true }).fill('42');
  await dialog.getByRole('button', { name: /^Enable/ }).click();
  await dialog.getByText(/must be NAME=VALUE/).waitFor();
  await dialog.getByLabel('Work with', { exact: true }).fill('user.id=42');
  await dialog.getByLabel('Lines where').fill('rows >');
  await dialog.getByRole('button', { name: /^Enable/ }).click();
  await dialog.getByRole('alert').getByText(/where/).waitFor();
  await assertAccessible(page, 'the fields of an activation');
  await dialog.getByLabel('Lines where').fill('rows > 1000');
  await dialog.getByLabel('Reason').fill('customer 42');
  await dialog.getByRole('button', { name: /^Enable/ }).click();
  await dialog.waitFor({ state: 'detached' });
  const row = rowOf(page, 'CACHE');
  await row.getByText('only user.id=42, where rows > 1000').waitFor();
  await row.getByText('admin: customer 42').waitFor();

  await client.enable('CACHE', { duration: '5m', otelrdcp_target: { match: { 'user.id': '43' } } });
  await go(page, '#/categories/CACHE');
  await page.getByRole('button', { name: 'End for user.id=42' }).click();
  await until('one activation is left', async () => {
    const { categories } = await client.discovery();
    const left = categories.find(({ name }) => name === 'CACHE')?.otelrdcp_activations ?? [];
    return left.length === 1 && left[0]?.target?.match?.['user.id'] === '43';
  });
  await page.getByRole('button', { name: 'End for user.id=42' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'End for user.id=43' }).waitFor();
});

browserTest('enabled for one request, the dialog gives the header that the request needs', async (t, browser) => {
  const lines: string[] = [];
  const { page } = await openConsole(t, browser, {
    config: { emit: { to: ({ message }) => void lines.push(message) } },
  });
  await page.getByRole('button', { name: 'Enable CACHE' }).click();
  await page.getByText('Only some work or lines').click();
  await page.getByLabel('One request').check();
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /^Enable/ })
    .click();
  const given = page.getByRole('dialog', { name: 'Header for the request' });
  assert.match((await given.locator('code').textContent()) ?? '', /^baggage: rdcp\.debug=.{20,}/);
  await assertAccessible(page, 'the header for a request');
  await given.getByRole('button', { name: 'Copy the header' }).click();
  await given.getByText('Copied').waitFor();
  await given.getByRole('button', { name: 'Done' }).click();
  await given.waitFor({ state: 'detached' });
  await rowOf(page, 'CACHE').getByText('only one request').waitFor();
});

browserTest('what is off shows no rate until it is measured', async (t, browser) => {
  const service = await startService(t);
  const timer = setInterval(() => service.rdcp.category('ORDERS').debug('order'), 20);
  t.after(() => clearInterval(timer));
  const { page } = await openView(t, browser, service.console);
  const rate = rowOf(page, 'ORDERS').locator('.rate');
  assert.equal(await rate.textContent(), '-');
  await page.locator('.summary').getByText('- calls/s').waitFor();
  await page.getByRole('button', { name: 'Measure all' }).click();
  await rowOf(page, 'ORDERS')
    .getByText(/\d s ago/)
    .waitFor();
  assert.ok(Number.parseFloat((await rate.textContent()) ?? '') > 5);
  assert.equal(await rowOf(page, 'CACHE').locator('.rate').textContent(), '0/s');
  await service.client.enable('CACHE', { duration: '5m' });
  await page.locator('.summary').getByText('0 calls/s').waitFor();
});

browserTest('"only this" beside an attribute begins the tail again with its value', async (t, browser) => {
  const service = await startService(t);
  talk(t, 50, (count) => service.rdcp.category('ORDERS').debug('order', { shop: `shop-${count % 2}` }));
  const { page } = await openView(t, browser, `${service.console}#/tail?categories=ORDERS`);
  await page.getByRole('button', { name: 'Start' }).click();
  await page.locator(ROWS).filter({ hasText: 'shop=shop-1' }).first().click();
  await page.getByRole('button', { name: 'Only this shop' }).click();
  assert.equal(await page.getByLabel('Lines where').inputValue(), 'attributes["shop"] == "shop-1"');
  await page.locator(NOTES).filter({ hasText: 'Tail of ORDERS' }).nth(1).waitFor();
  await page.getByRole('button', { name: 'Clear' }).click();
  await until('some lines', async () => (await page.locator(ROWS).count()) > 5);
  assert.equal(await page.locator(ROWS).filter({ hasText: 'shop=shop-0' }).count(), 0);
});

browserTest('a tail begins no earlier than the service keeps', async (t, browser) => {
  for (const [keepSeconds, offered] of [
    [60, ['now', '30 s ago', '1 min ago']],
    [45, ['now', '30 s ago', '45 s ago']],
    [0, []],
  ] as const) {
    const config = { recorder: { categories: ['*'], keepSeconds } };
    const view = '#/tail?categories=ORDERS&since=10m';
    const { page } = await openConsole(t, browser, { config, view });
    const since = page.getByRole('combobox', { name: 'Since' }).locator('option');
    assert.deepEqual(await since.allTextContents(), offered);
    await startTail(page);
    assert.equal(await page.getByRole('alert').count(), 0);
  }
});

browserTest('a service that hangs is silent, not live, long before its connection is given up', async (t, browser) => {
  const [member = assert.fail()] = await startFleet(t, 1);
  const { page } = await openView(t, browser, `${member.console}#/tail?categories=DATABASE`);
  await startTail(page);
  await go(page, '#/categories');
  member.child.kill('SIGSTOP');
  const banner = page.locator('.banner.error', { hasText: 'The service is silent' });
  await banner.getByText(/What you see is as of \d\d:\d\d:\d\d/).waitFor();
  await page.locator('header').getByText('Silent', { exact: true }).waitFor();
  assert.equal(await page.getByText('Live', { exact: true }).count(), 0, 'nor is the tail');
  assert.equal(await page.getByText('No connection').count(), 0);
  await assertAccessible(page, 'a silent service');
  member.child.kill('SIGCONT');
  await banner.waitFor({ state: 'detached' });
  await page.locator('header').getByText('Live', { exact: true }).waitFor();
});

browserTest('the calls of a fleet stand beside the limits of all its processes', async (t, browser) => {
  const [member = assert.fail()] = await startFleet(t, 2);
  const client = createRdcpClient({ baseUrl: member.url, apiKey: KEYS.admin });
  await client.enable('DATABASE', { duration: '10m', otelrdcp_budget: { callsPerSecond: 500, calls: 100_000 } });
  const { page } = await openView(t, browser, member.console);
  const budget = rowOf(page, 'DATABASE').locator('.budget');
  await budget.getByText(/^\d+ of 2 × 500\/s$/).waitFor();
  await budget.getByText(/^[\d,]+ lines left here$/).waitFor();
});
