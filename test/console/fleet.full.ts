// Measures, so nothing runs beside it: how fast the page draws a fleet.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KEY, startMember, together } from '../fleet/processes.ts';
import { enable, rowOf, signIn, waitForState } from './drive.ts';
import { browserTest, openPage } from './support.ts';

browserTest(
  'of a fleet of three one process is stopped: the receipt says so, a banner stays until it is back',
  async (t, browser) => {
    const folder = mkdtempSync(join(tmpdir(), 'rdcp-console-fleet-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const store = `sqlite:${join(folder, 'state.sqlite')}`;
    const members = [await startMember({ store }), await startMember({ store }), await startMember({ store })] as const;
    const [first, , third] = members;
    const { page } = await openPage(t, browser, `${first.url}/rdcp/console/`);
    // After the page is closed.
    t.after(() => Promise.all(members.map((member) => member.kill())));
    await signIn(page, KEY);
    assert.match(await enable(page, 'DATABASE', 'all of them'), /3 of 3/);

    third.signal('SIGSTOP');
    // Watched from before the change: the silent process leaves the list, and the banner with it, a few seconds later.
    const banner = page.getByText('A change is not everywhere yet: applied by 2 of 3.').waitFor();
    const receipt = await enable(page, 'HTTP', 'one is stopped');
    assert.match(receipt, /2 of 3/);
    assert.match(receipt, new RegExp(`Behind: .*:${third.pid}`));
    await waitForState(page, 'HTTP', 'On');
    await banner;
    third.signal('SIGCONT');
    await page.getByText('A change is not everywhere yet').waitFor({ state: 'detached' });
    assert.equal(await third.enabled('HTTP'), true);

    await third.kill();
    // Asked before the page is looked at: its list may still be the one from while the third was silent.
    await together(first, 2, 15_000);
    await page.getByRole('link', { name: 'Fleet' }).first().click();
    await page.getByRole('heading', { name: 'Fleet' }).waitFor();
    const listed = (pid: number) => page.locator('.fleet-row').getByText(String(pid));
    await listed(first.pid).waitFor();
    await page
      .locator('.fleet-row', { hasText: String(third.pid) })
      .getByText('lost')
      .waitFor();
    await page.getByText('2 processes').waitFor();
    await page.getByRole('link', { name: 'Categories' }).first().click();
    await rowOf(page, 'QUEUE').waitFor();
    assert.match(await enable(page, 'QUEUE', 'the other two'), /2 of 2/);
  },
);
