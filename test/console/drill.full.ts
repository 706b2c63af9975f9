import assert from 'node:assert/strict';
import { rowOf, signIn, typeCredential } from './drive.ts';
import { assertAccessible, browserTest, KEYS, openPage, startService } from './support.ts';
import { openConsole, openView, talk } from './views.ts';

browserTest('the drill by mouse: from a wrong key to the lines of one category, and off again', async (t, browser) => {
  const service = await startService(t);
  const database = service.rdcp.category('DATABASE');
  talk(t, 20, (count) => database.debug('said', { count }));
  const { page } = await openPage(t, browser, service.console);

  await typeCredential(page, 'wrong-key'.padEnd(40, 'x'));
  await page.getByRole('alert').getByText('The credential was not accepted').waitFor();
  await signIn(page, KEYS.admin);
  await rowOf(page, 'DATABASE').waitFor();

  await page.getByLabel('Search categories').fill('sql');
  await rowOf(page, 'CACHE').waitFor({ state: 'detached' });
  await rowOf(page, 'DATABASE').getByRole('button', { name: 'Enable DATABASE' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Goes back by itself at').waitFor();

  await dialog.getByRole('button', { name: /measure/i }).click();
  await dialog.getByRole('button', { name: 'Stop' }).click();
  await dialog.getByRole('button', { name: /measure/i }).click();
  await dialog.getByText('1 of 1 process').waitFor();
  await assertAccessible(page, 'a forecast');

  await dialog.getByText('Other', { exact: true }).click();
  await dialog.getByLabel('Time', { exact: true }).fill('90 m');
  await dialog.getByText('Goes back by itself at').waitFor();
  await dialog.getByLabel('Time', { exact: true }).fill('3 weeks');
  await dialog.getByText('with its unit').waitFor();
  await dialog.getByText('15 min', { exact: true }).click();
  await dialog.getByLabel(/Reason/).fill('slow checkout');
  await dialog.getByRole('button', { name: /Enable .*15 min/ }).click();
  await dialog.waitFor({ state: 'detached' });

  await rowOf(page, 'DATABASE').getByText('On', { exact: true }).waitFor();
  await rowOf(page, 'DATABASE').getByText('slow checkout').waitFor();
  await rowOf(page, 'DATABASE')
    .getByText(/^14:\d\d$/)
    .first()
    .waitFor();
  await page.getByRole('region', { name: 'Answers' }).getByText('DATABASE').waitFor();
  await assertAccessible(page, 'a receipt');

  await rowOf(page, 'DATABASE').getByRole('link', { name: 'DATABASE' }).click();
  await page.getByRole('heading', { name: 'DATABASE' }).waitFor();
  await page.getByText('slow checkout').first().waitFor();
  await page.getByRole('link', { name: /audit trail/ }).click();
  await page.waitForURL(/#\/audit\?category=DATABASE/);
  await page.goBack();

  await page.getByRole('button', { name: 'End now…' }).click();
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /End now/ })
    .click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Enable…' }).waitFor();
  const { entries } = await service.client.audit({ category: 'DATABASE' });
  assert.deepEqual(entries.map(({ action }) => action).slice(0, 2), ['reset', 'enable']);
});

browserTest('the drill by keyboard alone', async (t, browser) => {
  const service = await startService(t);
  const { page } = await openPage(t, browser, service.console);
  const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '');
  await page.waitForFunction(() => document.activeElement?.id === 'credential');
  await page.keyboard.type(KEYS.operator);
  await page.keyboard.press('Enter');
  await rowOf(page, 'CACHE').waitFor();

  await page.keyboard.press('/');
  await page.keyboard.type('hits');
  await rowOf(page, 'DATABASE').waitFor({ state: 'detached' });
  await page.keyboard.press('Escape');
  await rowOf(page, 'DATABASE').waitFor();
  await page.keyboard.press('ArrowDown');
  assert.equal(await focused(), 'CACHE');
  await page.keyboard.press('ArrowDown');
  await page.waitForFunction(() => document.activeElement?.textContent === 'DATABASE');

  await page.keyboard.press('e');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.type('by keyboard');
  await page.keyboard.press('Enter');
  await rowOf(page, 'DATABASE').getByText('by keyboard').waitFor();
  await page.waitForFunction(() => document.activeElement?.textContent === 'DATABASE');

  await page.keyboard.press('d');
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /End now/ })
    .waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.waitForFunction(() => document.activeElement?.textContent === 'DATABASE');
  await page.keyboard.press('d');
  await page.keyboard.press('Enter');
  await rowOf(page, 'DATABASE').getByText('Off', { exact: true }).waitFor();

  await page.keyboard.press('x');
  await page.getByText('1 selected').waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'DATABASE' }).waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('h');
  await page.waitForURL(/#\/health/);
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
  await assertAccessible(page, 'the overview of keys');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
});

browserTest('a permanent change needs a second step', async (t, browser) => {
  const { page, ...service } = await openConsole(t, browser, { key: KEYS.operator });
  await page.getByRole('button', { name: 'Enable CACHE' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Permanent', { exact: true }).click();
  await dialog.getByRole('button', { name: /permanently …/ }).click();
  await dialog.getByText('1 category will be on until switched again.').waitFor();
  await assertAccessible(page, 'the second step');
  const status = async () => (await service.client.status()).categories;
  assert.equal((await status()).CACHE, false);
  await dialog.getByRole('button', { name: /Yes/ }).click();
  await rowOf(page, 'CACHE').getByText('permanent').waitFor();
  assert.equal((await status()).CACHE, true);
});

browserTest('a temporary control is extended, and a permanent one is reset', async (t, browser) => {
  const { client, ...service } = await startService(t);
  await client.enable('CACHE', { duration: '5m', reason: 'slow checkout' });
  await client.enable('ORDERS', { temporary: false, reason: 'counting differs' });
  const { page } = await openView(t, browser, service.console);
  const button = (name: string, action: string) => rowOf(page, name).getByRole('button', { name: `${action} ${name}` });
  await button('CACHE', 'Extend').click();
  const dialog = page.getByRole('dialog', { name: 'Extend CACHE' });
  await dialog.getByText('1 h', { exact: true }).click();
  await dialog.getByRole('textbox', { name: 'Reason' }).fill('takes longer');
  await dialog.getByRole('button', { name: 'Extend for 1 h' }).click();
  await rowOf(page, 'CACHE').getByText('takes longer').waitFor();
  const { categories } = await client.discovery();
  const end = Date.parse(categories.find(({ name }) => name === 'CACHE')?.otelrdcp_expiresAt ?? '');
  assert.ok(end > Date.now() + 50 * 60_000, 'it ends in an hour');

  await rowOf(page, 'ORDERS').getByRole('link', { name: 'ORDERS' }).click();
  await page.getByRole('heading', { name: 'ORDERS' }).waitFor();
  await page.getByRole('button', { name: 'Turn off for good…' }).click();
  await page
    .getByRole('dialog', { name: 'Turn off ORDERS' })
    .getByRole('button', { name: /^Turn off/ })
    .click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.locator('main').getByText('Off, by default').waitFor();
  assert.equal((await client.discovery()).categories.find(({ name }) => name === 'ORDERS')?.otelrdcp_origin, 'default');
});

browserTest('a refusal names the next step, and the change sent again has the same id', async (t, browser) => {
  const { page } = await openConsole(t, browser);
  await page.getByRole('button', { name: 'Enable CACHE' }).click();
  const dialog = page.getByRole('dialog');
  const ids: (string | undefined)[] = [];
  let status = 429;
  await page.route('**/rdcp/v1/control', (route) => {
    ids.push(route.request().headers()['x-rdcp-request-id']);
    const error = { code: 'OTHER', message: `refused ${status}`, protocol: 'rdcp/1.0' };
    return route.fulfill({ status, json: { protocol: 'rdcp/1.0', error }, headers: { 'Retry-After': '7' } });
  });
  for (status of [429, 403, 409, 503]) {
    await dialog.getByRole('button', { name: /^Enable .*15 min/ }).click();
    await dialog.getByText(`refused ${status}`).waitFor();
    await dialog.getByText(/Possible again in [5-7] s/).waitFor();
    await assertAccessible(page, `a change that is refused with ${status}`);
  }
  assert.equal(new Set(ids).size, 1);
});

browserTest('text of the service is text, however it looks', async (t, browser) => {
  const evil = `<img src=x onerror="document.title='evil'">\u202eevil ${'x'.repeat(900)}`;
  const service = await startService(t, { categories: { [`A${'_LONG'.repeat(12)}`]: { description: evil }, B: {} } });
  for (const width of [320, 1280]) {
    const { page } = await openPage(t, browser, service.console, { viewport: { width, height: 700 } });
    await signIn(page, KEYS.admin);
    await page.getByText('onerror').first().waitFor();
    const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
    assert.equal(await fits(), true, `the list at ${width}`);
    await page.getByRole('link', { name: /^A_LONG/ }).click();
    await page.getByRole('heading', { name: /^A_LONG/ }).waitFor();
    assert.equal(await fits(), true, `the category at ${width}`);
    assert.match(await page.locator('main').innerText(), /<img src=x onerror=.*\\u202e/s);
    assert.doesNotMatch(await page.title(), /^evil/);
  }
});
