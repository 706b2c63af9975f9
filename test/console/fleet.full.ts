// Measures, so nothing runs beside it: how fast the page draws a fleet.

import assert from 'node:assert/strict';
import { KEY, shows, startMember, together } from '../fleet/processes.ts';
import { newStore } from '../support/folder.ts';
import { enable, rowOf, signIn, waitForState } from './drive.ts';
import { browserTest, openPage } from './support.ts';

browserTest('a stopped process is in receipt, banner and list, and follows once it is back', async (t, browser) => {
  const store = newStore(t);
  const members = [await startMember({ store }), await startMember({ store }), await startMember({ store })] as const;
  const [first, , third] = members;
  const { page } = await openPage(t, browser, `${first.url}/rdcp/console/`);
  // After the page is closed.
  t.after(() => Promise.all(members.map((member) => member.kill())));
  await signIn(page, KEY);
  assert.match(await enable(page, 'DATABASE', 'all of them'), /3 of 3/);

  const receipt = await enable(page, 'HTTP', 'one is stopped', () => third.signal('SIGSTOP'));
  assert.match(receipt, /2 of 3/);
  assert.match(receipt, new RegExp(`still pending: .*:${third.pid}\\b`));
  await waitForState(page, 'HTTP', 'On');
  const banner = page.locator('.banner', { hasText: /^Not every process is heard of: applied by 2 of 3/ });
  await banner
    .locator('.square.error title', { hasText: `:${third.pid} ` })
    .first()
    .waitFor({ state: 'attached' });
  assert.equal(await banner.locator('.square.on title').count(), 2);
  await page.getByRole('link', { name: 'Fleet' }).first().click();
  await page.getByRole('heading', { name: 'Fleet' }).waitFor();
  const listed = (pid: number) => page.locator('.fleet-row').getByText(String(pid));
  await listed(first.pid).waitFor();
  await page
    .locator('.fleet-row', { hasText: String(third.pid) })
    .getByText('not heard of')
    .waitFor();
  await page.getByText('3 processes', { exact: true }).waitFor();
  third.signal('SIGCONT');
  await shows([third], true, 'HTTP');
  await third.kill();
  await together(first, 2, 15_000);
  await page.getByRole('link', { name: 'Categories' }).first().click();
  await rowOf(page, 'QUEUE').waitFor();
  assert.match(await enable(page, 'QUEUE', 'the other two'), /2 of 2/);
});
