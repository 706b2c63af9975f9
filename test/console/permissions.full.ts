import assert from 'node:assert/strict';
import { go } from './drive.ts';
import { assertAccessible, browserTest, KEYS, startService } from './support.ts';
import { openView } from './views.ts';

browserTest('a view that a credential may not use is not offered, and a link to it says why', async (t, browser) => {
  const service = await startService(t);
  const { page } = await openView(t, browser, service.console, { key: KEYS.reader });
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
  const service = await startService(t);
  const { page } = await openView(t, browser, service.console, { key: KEYS.switcher });
  for (const route of ['#/categories', '#/categories/ORDERS']) {
    await go(page, route);
    await page.locator('main').getByText('The list of categories needs the scope discovery').waitFor();
    await page.locator('main').getByText('Your credential has control.').waitFor();
    assert.equal(await page.getByText(/Connecting|Loading/).count(), 0);
    await assertAccessible(page, route);
  }
});
