import assert from 'node:assert/strict';
import { createRdcpClient } from '../../src/client.ts';
import { until } from '../support/until.ts';
import { go, rowOf, waitForState } from './drive.ts';
import { assertAccessible, browserTest, KEYS, startService } from './support.ts';
import { openConsole, openView, talk } from './views.ts';

browserTest('a category is recorded from the dialog, and told apart from one that is on', async (t, browser) => {
  const { page, client } = await openConsole(t, browser);
  const state = rowOf(page, 'CACHE').locator('.cell.state');
  await page.getByRole('button', { name: 'Enable CACHE' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Only record').check();
  assert.equal(await dialog.getByText('Limit its output').count(), 0);
  await dialog.getByLabel('Reason').fill('complaints');
  await dialog.getByText('7 d', { exact: true }).click();
  await dialog.getByRole('button', { name: /^Record .*7 d/ }).click();
  await page.getByText('Recorded: CACHE', { exact: true }).waitFor();
  await state.filter({ hasText: 'Recorded' }).waitFor();
  const { enabled, otelrdcp_activations: [activation] = [] } =
    (await client.discovery()).categories.find(({ name }) => name === 'CACHE') ?? assert.fail();
  assert.deepEqual([enabled, activation?.record, activation?.reason], [false, true, 'complaints']);
  assert.ok(Date.parse(activation?.expiresAt ?? '') > Date.now() + 6 * 86_400_000);
  await assertAccessible(page, 'the list');
  await page.getByRole('link', { name: 'CACHE', exact: true }).click();
  await page.getByText('kept in memory, and none is written').waitFor();
  await page.getByRole('button', { name: 'End for recorded' }).click();
  await page.getByText('kept in memory, and none is written').waitFor({ state: 'detached' });
  assert.equal((await client.status()).otelrdcp_recorded, undefined);
});

browserTest('the first Tab is a link past the head of the page', async (t, browser) => {
  const { page } = await openConsole(t, browser);
  await page.evaluate(() => {
    document.body.tabIndex = -1;
    document.body.focus();
  });
  await page.keyboard.press('Tab');
  const link = page.getByRole('link', { name: 'Skip to the content' });
  assert.equal(await link.evaluate((element) => element === document.activeElement), true);
  assert.ok(((await link.boundingBox())?.width ?? 0) > 50, 'it is seen');
  await assertAccessible(page, 'the skip link');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'view');
  assert.equal(new URL(page.url()).hash, '', 'the view stays');
});

browserTest('a category shows its last changes and the next one, with who and why', async (t, browser) => {
  const service = await startService(t);
  const client = createRdcpClient({ baseUrl: service.url, apiKey: KEYS.operator });
  await client.enable('CACHE', { duration: '5m', reason: 'slow checkout' });
  await client.enable('ORDERS', { duration: '5m', reason: 'something else' });
  const { page } = await openView(t, browser, service.console);
  await go(page, '#/categories/CACHE');
  const history = page.getByRole('region', { name: 'Last changes' });
  await history.getByText('slow checkout').waitFor();
  assert.equal(await history.getByText('something else').count(), 0);
  await history.getByRole('cell', { name: 'operator' }).waitFor();
  await client.reset('CACHE', { reason: 'found it' });
  await history.getByText('found it').waitFor();
  await assertAccessible(page, 'a category with its history');
  await history.getByRole('button', { name: 'enable' }).click();
  await page.getByRole('dialog').getByText('slow checkout').first().waitFor();
  await page.keyboard.press('Escape');

  const { page: other } = await openView(t, browser, service.console, { key: KEYS.operator });
  await go(other, '#/categories/CACHE');
  await other.getByRole('heading', { name: 'CACHE' }).waitFor();
  assert.equal(await other.getByRole('region', { name: 'Last changes' }).count(), 0, 'the trail is for admin');
});

browserTest('a forecast of several categories has a row for each', async (t, browser) => {
  const service = await startService(t);
  const cache = service.rdcp.category('CACHE');
  talk(t, 20, () => cache.debug('hit'));
  const { page } = await openView(t, browser, service.console);
  for (const name of ['CACHE', 'ORDERS']) await page.getByLabel(`Select ${name}`).check();
  await page.getByRole('region', { name: 'Selected categories' }).getByRole('button', { name: 'Enable…' }).click();
  await page.getByRole('button', { name: /Forecast/ }).click();
  const table = page.getByRole('table', { name: 'Forecast by category' });
  await table.waitFor();
  const linesOf = async (name: string) =>
    Number.parseFloat(String(await table.getByRole('row', { name }).getByRole('cell').last().textContent()));
  assert.ok((await linesOf('CACHE')) > 10);
  assert.equal(await linesOf('ORDERS'), 0);
  const widths = await page
    .locator('.lane')
    .evaluateAll((lanes) =>
      lanes.map((lane) => [...lane.querySelectorAll('rect')].map((rect) => rect.getAttribute('width'))),
    );
  assert.deepEqual(widths, [['100%'], []]);
  await assertAccessible(page, 'a forecast by category');
  await page.route('**/rdcp/v1/forecast', async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    await route.fulfill({ response, json: { ...answer, instances: { asked: 1, answered: 0 } } });
  });
  await page.getByRole('button', { name: 'Measure again' }).click();
  await page.getByText('0 of 1 process').waitFor();
  const facts = await page.locator('.forecast dd').allTextContents();
  assert.deepEqual(facts, ['-', '-', '-', '-', '0 of 1 process'], 'what was not measured is no 0');
});

browserTest('another tenant is asked for in a dialog, also in the middle of a change', async (t, browser) => {
  const { page, ...service } = await openConsole(t, browser, {
    config: { tenancy: { isolation: 'organization', tenants: { acme: {} } } },
  });
  await page.getByLabel('Tenant', { exact: true }).selectOption('Another tenant …');
  const dialog = page.getByRole('dialog', { name: 'Another tenant' });
  await dialog.getByLabel('Id of the tenant').fill('no id at all');
  await page.keyboard.press('Enter');
  await dialog.getByRole('alert').waitFor();
  await assertAccessible(page, 'a wrong tenant');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.equal(await page.getByLabel('Tenant', { exact: true }).inputValue(), '', 'nothing was chosen');

  await page.getByRole('button', { name: 'Enable CACHE' }).click();
  await page.getByLabel('For whom').selectOption('Another tenant …');
  await dialog.getByLabel('Id of the tenant').fill('initech');
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  const change = page.getByRole('dialog', { name: /Enable/ });
  await change.getByRole('button', { name: 'Enable for initech for 15 min' }).click();
  await change.waitFor({ state: 'detached' });
  const acme = createRdcpClient({ baseUrl: service.url, apiKey: KEYS.admin, tenantId: 'initech' });
  await until('it is on for the tenant', async () =>
    (await acme.discovery()).categories.some(({ name, enabled }) => name === 'CACHE' && enabled),
  );
  await waitForState(page, 'CACHE', 'Partly');
  await rowOf(page, 'CACHE').getByText('only initech').waitFor();
});
