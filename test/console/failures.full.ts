import { category, runWithAttributes, runWork } from '../../src/api.ts';
import { go } from './drive.ts';
import { assertAccessible, browserTest, KEYS, startService } from './support.ts';
import { openView } from './views.ts';

browserTest('work that failed is listed, and its recorded lines open in the tail', async (t, browser) => {
  const service = await startService(t, { recorder: { categories: ['FAILING'] } });
  const { page } = await openView(t, browser, service.console, { key: KEYS.admin });
  const orders = category('FAILING');
  for (const user of ['42', '43']) {
    runWithAttributes({ 'user.id': user }, () =>
      runWork('order', () => {
        orders.debug(`of customer ${user}`);
        orders.fail(new RangeError('secret'));
      }),
    );
  }
  await go(page, '#/failures');
  const main = page.locator('main');
  await main.getByText('2 failures').waitFor();
  await main.getByText('user.id=43').waitFor();
  await assertAccessible(page, 'failures');
  await main.getByLabel('Only work with').fill('user.id=42');
  await page.keyboard.press('Enter');
  await main.getByText('1 failure').waitFor();
  await main.getByRole('button', { name: /order failed after/ }).click();
  await main.getByText('of customer 42').waitFor();
  await main.getByText('all recorded lines have arrived').waitFor();
});
