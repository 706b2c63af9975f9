import assert from 'node:assert/strict';
import { hashApiKey } from '../../src/access/api-key.ts';
import { category, runWithAttributes } from '../../src/api.ts';
import { until } from '../support/until.ts';
import { enable, go } from './drive.ts';
import { openScene, keyOf as sceneKeyOf } from './scene.ts';
import { assertAccessible, browserTest, KEY_RECORDS, startService } from './support.ts';
import { NOTES, openConsole, openView, ROWS, startTail, talk } from './views.ts';

// The page says what is meant before and after: for whom, what a button will do, why something is missing.

browserTest('a tail of one user says so, has all their lines, and is widened by a click', async (t, browser) => {
  const service = await startService(t);
  const orders = category('ORDERS');
  talk(t, 50, (count) =>
    runWithAttributes({ 'user.id': String(42 + (count % 2)) }, () => {
      orders.debug('asked for', { 'user.id': String(42 + (count % 2)) });
      orders.debug(count % 2 === 0 ? 'refused' : 'accepted');
    }),
  );
  const { page } = await openView(t, browser, `${service.console}#/tail?categories=ORDERS`);
  await page.getByRole('button', { name: 'Start' }).click();
  await page.locator(ROWS).filter({ hasText: 'user.id=42' }).first().click();
  await page.getByRole('button', { name: 'Only this user.id' }).click();
  await page.locator(NOTES, { hasText: 'Tail of ORDERS for user.id=42' }).waitFor();
  const chip = page.locator('.setup .chip.limit', { hasText: 'user.id=42' });
  await chip.waitFor();
  await page.getByRole('button', { name: 'Clear' }).click();
  const accepted = page.locator(ROWS).filter({ hasText: 'accepted' });
  await until('the lines of before are gone', async () => (await accepted.count()) === 0);
  await page.locator(ROWS).filter({ hasText: 'refused' }).first().waitFor();
  assert.equal(await accepted.count(), 0);
  await assertAccessible(page, 'a narrowed tail');
  await go(page, '#/categories');
  await page.getByRole('region', { name: 'Tail' }).locator('.chip', { hasText: 'user.id=42' }).waitFor();
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await chip.getByRole('button').click();
  await chip.waitFor({ state: 'detached' });
  await accepted.first().waitFor();
});

browserTest('the dialog begins with the common cases, and its button says what will happen', async (t, browser) => {
  const { page, client } = await openConsole(t, browser);
  await page.getByRole('button', { name: 'Enable ORDERS' }).click();
  const dialog = page.getByRole('dialog');
  const says = (name: string) => dialog.getByRole('button', { name, exact: true }).waitFor();
  await says('Enable for 15 min');
  await dialog.getByText('Only failures', { exact: true }).click();
  await says('Record failures for 1 d');
  await assertAccessible(page, 'the cases of a change');
  await dialog.getByRole('button', { name: 'Record failures for 1 d' }).click();
  await page.getByRole('region', { name: 'Answers' }).getByText('Recording failures: ORDERS').waitFor();
  const { otelrdcp_activations: [activation] = [] } =
    (await client.discovery()).categories.find(({ name }) => name === 'ORDERS') ?? assert.fail();
  assert.deepEqual([activation?.when, activation?.target], [{ failed: true }, undefined]);
  await go(page, '#/audit');
  const entry = page.getByRole('table', { name: 'Audit trail' }).getByRole('row', { name: /ORDERS/ });
  await entry.getByRole('cell', { name: 'failures' }).waitFor();
  await entry.getByRole('button', { name: 'record' }).waitFor();
});

browserTest('the dialog says what is missing, and nothing that is not so', async (t, browser) => {
  const config = { tenancy: { isolation: 'organization', tenants: { Acme: {} } } } as const;
  const { page, client } = await openConsole(t, browser, { config });
  await page.getByRole('button', { name: 'Enable ORDERS' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('One user or request', { exact: true }).click();
  await dialog.getByRole('button', { name: /^Enable / }).click();
  await dialog.getByText('Name the work, such as user.id=42, or choose everybody').waitFor();
  await dialog.getByText('Other', { exact: true }).click();
  assert.doesNotMatch(await dialog.innerText(), /until it is switched again/, 'no time is given yet');
  await dialog.getByRole('button', { name: 'Everybody', exact: true }).click();
  await dialog.getByText('Permanent', { exact: true }).click();
  await dialog.getByRole('combobox', { name: 'For whom' }).selectOption('Acme');
  await dialog.getByRole('button', { name: 'Enable for Acme permanently …' }).click();
  await dialog.getByRole('button', { name: 'Yes, enable for Acme permanently' }).waitFor();
  assert.equal((await client.status()).categories.ORDERS, false);
});

browserTest('a trace of which a filter finds one line stays whole, under its outcome', async (t, browser) => {
  const scene = await openScene();
  t.after(() => scene.close());
  const { page } = await openView(t, browser, scene.console, { key: sceneKeyOf('alice') });
  await go(page, '#/tail?categories=DATABASE,ORDERS,PAYMENTS_CARD&trace=true&filter=refused');
  await startTail(page);
  scene.speak();
  const group = page.locator('.log-row.group', { hasText: /trace \w+ · 4 lines · .* refused/ });
  await group.click();
  await page.locator(ROWS).filter({ hasText: 'over the limit' }).waitFor();
});

browserTest('a limited key sees its limits, and asks for an approval knowingly', async (t, browser) => {
  const keyOf = (name: string) => `${name}-key-`.padEnd(40, 'k');
  const limited = (id: string, more: object) => ({
    ...{ id, hash: hashApiKey(keyOf(id)), clientId: id, scopes: ['discovery', 'control'] as const },
    ...{ allow: { categories: ['ORD*'], actions: ['enable', 'reset'] as const, maxDuration: '15m' }, ...more },
  });
  const apiKeys = [...KEY_RECORDS, limited('agent', {}), limited('trainee', { approval: true })];
  const { page, ...service } = await openConsole(t, browser, {
    config: { security: { apiKeys } },
    key: keyOf('agent'),
  });
  await page.locator('header .menu summary').click();
  await page.locator('.menu-body').getByText('ORD*: enable, reset, for at most 15m').waitFor();
  await go(page, '#/categories/CACHE');
  await page.getByText('Your credential may do this only: ORD*').waitFor();
  await go(page, '#/categories/ORDERS');
  await page.getByRole('button', { name: 'Enable…' }).click();
  await page.getByRole('dialog').getByText('Limit its output').waitFor();
  assert.equal(await page.getByRole('button', { name: /Forecast/ }).count(), 0, 'it would be refused');

  const { page: other } = await openView(t, browser, service.console, { key: keyOf('trainee') });
  await other.getByRole('button', { name: 'Enable CACHE' }).click();
  await other.getByText('another user has to approve it').waitFor();
  await assertAccessible(other, 'a change that has to be approved');
  await other.getByRole('button', { name: 'Send for approval: Enable for 15 min' }).click();
  const receipt = other.locator('.toast.good');
  await receipt.getByText(/^Sent for approval, waits until \d\d:\d\d/).waitFor();
});

browserTest('on a phone the View menu is on the screen, and buttons fit a finger', async (t, browser) => {
  const service = await startService(t);
  talk(t, 50, () => service.rdcp.category('CACHE').debug('hit'));
  const viewport = { width: 390, height: 844 };
  const { page } = await openView(t, browser, `${service.console}#/tail?categories=CACHE`, { viewport });
  await page.getByRole('button', { name: 'Start' }).click();
  await page.locator('summary', { hasText: 'View' }).click();
  const box = await page.locator('.tail-bar .menu-body').boundingBox();
  assert.ok(box && box.x >= 0 && box.x + box.width <= 390, JSON.stringify(box));
  const download = await page.getByRole('button', { name: 'Download' }).boundingBox();
  assert.ok(download && download.height >= 40, JSON.stringify(download));
  await go(page, '#/categories');
  await enable(page, 'ORDERS', 'slow checkout');
  // It takes room above the content, which can be scrolled away from below it.
  await page.evaluate(() => scrollTo(0, 0));
  const toast = await page.locator('.toast').boundingBox();
  for (const button of await page.locator('header a, header button, main button').all()) {
    const covered = (await button.isVisible()) && (await button.boundingBox());
    const isBeside = !toast || !covered || covered.y >= toast.y + toast.height || covered.y + covered.height <= toast.y;
    assert.ok(isBeside, `an answer covers ${await button.textContent()}`);
  }
});
