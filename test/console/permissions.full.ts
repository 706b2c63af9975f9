import { go } from './drive.ts';
import { assertAccessible, browserTest, KEYS, startService } from './support.ts';
import { openView } from './views.ts';

browserTest('what a credential may not do is not offered, and a link to it says why', async (t, browser) => {
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
