import { enable, signIn, waitForState } from './drive.ts';
import { assertAccessible, browserTest, KEYS, openPage, startService } from './support.ts';

browserTest('an operator signs in and switches a category on, and the page says so', async (t, browser) => {
  const service = await startService(t);
  const { page } = await openPage(t, browser, service.console);
  await assertAccessible(page, 'signed out');
  await signIn(page, KEYS.operator);
  await enable(page, 'DATABASE', 'slow checkout');
  await waitForState(page, 'DATABASE', 'On');
  await assertAccessible(page, 'a category is on');
});
