import assert from 'node:assert/strict';
import { hashApiKey } from '../../src/auth/api-key.ts';
import { go, rowOf, signIn } from './drive.ts';
import { assertAccessible, browserTest, KEY_RECORDS, KEYS, openPage, startService } from './support.ts';
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

browserTest('a key that may do little is offered that, and no more', async (t, browser) => {
  const key = 'agent-key-'.padEnd(40, 'a');
  const allow = { categories: ['ORD*', 'CACHE'], actions: ['enable', 'reset'], maxDuration: '15m' } as const;
  const scopes = ['discovery', 'control'] as const;
  const agent = { id: 'agent', hash: hashApiKey(key), clientId: 'agent', scopes, allow };
  const service = await startService(t, { security: { apiKeys: [...KEY_RECORDS, agent] } });
  const { page } = await openPage(t, browser, service.console);
  await signIn(page, key);
  assert.equal(await rowOf(page, 'DATABASE').getByRole('button').count(), 0);
  await rowOf(page, 'ORDERS').getByRole('button', { name: 'Enable ORDERS' }).click();
  const times = page.getByRole('dialog').getByRole('radio');
  assert.deepEqual(await times.evaluateAll((radios) => radios.map((radio) => radio.getAttribute('value'))), [
    '5m',
    '15m',
    'other',
  ]);
  await page.getByRole('button', { name: 'Enable for 15 min' }).click();
  await rowOf(page, 'ORDERS').getByRole('button', { name: 'Extend ORDERS' }).waitFor();
  await rowOf(page, 'ORDERS').getByRole('button', { name: 'End now ORDERS' }).waitFor();
  await go(page, '#/categories/ORDERS');
  await page.getByRole('button', { name: 'Extend…' }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Toggle…' }).count(), 0);
  assert.equal(await page.getByRole('button', { name: 'Tail' }).count(), 0);
});
