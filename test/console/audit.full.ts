import assert from 'node:assert/strict';
import { createRdcpClient } from '../../src/client.ts';
import { until } from '../support/until.ts';
import { go } from './drive.ts';
import { assertAccessible, browserTest, startService } from './support.ts';
import { openView } from './views.ts';

browserTest('the audit trail pages to its beginning, filters, and checks the chain', async (t, browser) => {
  const { client, ...service } = await startService(t, { limits: { controlPerMinute: 10_000 } });
  for (let each = 0; each < 450; each++) {
    const name = each % 50 === 0 ? 'CACHE' : 'ORDERS';
    await client.enable(name, {
      duration: '10m',
      reason: each === 3 ? 'the <b>third</b> \u202eone' : `change ${each}`,
    });
  }
  const { page } = await openView(t, browser, `${service.console}#/audit`);
  const rows = page.locator('.audit-row:not(.line-head)');
  await page.getByText('change 449').waitFor();
  assert.match(await rows.first().innerText(), /change 449/);
  await until('the oldest entry', async () => {
    await page.mouse.wheel(0, 20_000);
    return page.getByText('change 0', { exact: true }).isVisible();
  });
  await page.getByText('back to the oldest one').waitFor();
  assert.ok((await rows.count()) < 80, 'only what can be seen is drawn');
  await page.getByText('Chain intact').waitFor();
  await page.getByText(/450 entries checked/).waitFor();
  assert.equal(await page.locator('main b').count(), 0);
  await page.getByText('the <b>third</b> \\u202eone').waitFor();

  await go(page, '#/audit?category=CACHE');
  await until('nine entries', async () => (await rows.count()) === 9);
  await client.enable('CACHE', { duration: '5m', reason: 'new' });
  await client.enable('ORDERS', { duration: '5m', reason: 'other' });
  await page.getByText('new', { exact: true }).waitFor();
  assert.equal(await rows.count(), 10);
  assert.match(await rows.first().innerText(), /new/);
  await rows.first().getByRole('button', { name: 'enable' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  assert.match(await dialog.innerText(), /CACHE\s+on\s+on/);
  await assertAccessible(page, 'an audit entry');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await assertAccessible(page, 'the audit trail');
  await rows.first().getByRole('link', { name: 'CACHE' }).click();
  assert.match(page.url(), /#\/categories\/CACHE/);

  await go(page, '#/audit?text=change+449');
  await until('one entry', async () => (await rows.count()) === 1);
  await go(page, '#/audit?who=nobody');
  await page.getByText(/No entry|entries searched/).waitFor();
});

browserTest('what was refused is seen to be, at every width', async (t, browser) => {
  const service = await startService(t);
  await createRdcpClient({ baseUrl: service.url, apiKey: 'x'.repeat(40) })
    .status()
    .catch(() => {});
  const { page } = await openView(t, browser, `${service.console}#/audit?outcome=denied`);
  const badge = page.getByRole('row', { name: /authenticate/ }).getByText('denied', { exact: true });
  await badge.waitFor();
  for (const width of [1440, 970, 800, 390]) {
    await page.setViewportSize({ width, height: 800 });
    const cut = await badge.evaluate((each) => {
      const cell = each.closest('[role=cell]') ?? each;
      return each.getBoundingClientRect().right - cell.getBoundingClientRect().right;
    });
    assert.ok(cut <= 0, `${cut} px are cut off at ${width}`);
  }
});

browserTest('a trail that was changed on its way is shown as broken', async (t, browser) => {
  const { client, ...service } = await startService(t);
  for (let each = 0; each < 5; each++) await client.enable('CACHE', { duration: '10m', reason: `change ${each}` });
  const { page } = await openView(t, browser, service.console);
  await page.route('**/rdcp/v1/audit*', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replace('change 2', 'nothing at all') });
  });
  await go(page, '#/audit');
  await page.getByText('Chain broken').waitFor();
  await page.getByText('Changed since written').waitFor();
  assert.match(await page.locator('.audit-row.broken').innerText(), /nothing at all/);
});
