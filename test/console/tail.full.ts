import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { runWork } from '../../src/api.ts';
import { createRdcpClient } from '../../src/client.ts';
import type { TailLine } from '../../src/wire/streams.ts';
import { until } from '../support/until.ts';
import { enable, go } from './drive.ts';
import { assertAccessible, browserTest, type ConsoleService, KEYS, startService } from './support.ts';
import { lineCount, NOTES, openConsole, openView, ROWS, startFleet, startTail, talk } from './views.ts';

browserTest('a tail shows the lines of every process of a fleet, and who has left', async (t, browser) => {
  const [serving, second, third] = await startFleet(t, 3);
  const client = createRdcpClient({ baseUrl: serving!.url, apiKey: KEYS.admin });
  await until('three processes', async () => (await client.fleet()).instances.length === 3);
  const { page } = await openView(t, browser, `${serving!.console}#/tail?categories=DATABASE`);
  await page.getByRole('button', { name: 'Start' }).click();
  await page.getByText('3 of 3 processes').waitFor();
  const labels = async () => new Set(await page.locator(`${ROWS} .process`).allInnerTexts());
  await until('lines of three processes', async () => (await labels()).size === 3);
  for (const { child } of [serving!, second!, third!]) {
    assert.ok([...(await labels())].some((label) => label.endsWith(`:${child.pid}`)));
  }
  third!.child.kill('SIGKILL');
  // Among so many lines a note is soon out of sight.
  await page.getByLabel('Filter lines').fill('no line has this');
  await page
    .locator(`${NOTES}.warning`)
    .filter({ hasText: `:${third!.child.pid} left` })
    .waitFor();
  await page.getByText('2 of 3 processes').waitFor();
  await assertAccessible(page, 'a tail that runs');
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('The tail has ended: stopped').waitFor();
  await until('no process is tapped', async () => !(await second!.enabled()) && !(await serving!.enabled()));

  await go(page, '#/fleet');
  await until(
    'the fleet has two processes, because that of the third has ended on this host',
    async () => (await page.locator('.fleet-row:not(.line-head)').count()) === 2,
  );
  await page.getByRole('searchbox').fill(String(second!.child.pid));
  assert.equal(await page.locator('.fleet-row:not(.line-head)').count(), 1);
  await assertAccessible(page, 'the fleet');

  await go(page, '#/tenants');
  await page.locator('#view').getByText('Acme Ltd').waitFor();
  await assertAccessible(page, 'tenants');
  await page.getByRole('button', { name: 'Choose Acme Ltd' }).click();
  await go(page, '#/tail?categories=DATABASE');
  await page.getByRole('button', { name: 'Clear' }).click();
  await page.getByRole('button', { name: 'Start' }).click();
  await until('lines', async () => (await page.locator(ROWS).count()) > 5);
  for (const text of await page.locator(`${ROWS} .message`).allInnerTexts()) assert.match(text, /^acme acme's query/);
});

browserTest('whatever stands in a line is text, and does no harm', async (t, browser) => {
  const service = await startService(t, {
    tenancy: { isolation: 'organization' },
    console: { traceUrl: 'https://traces.example.com/{traceId}' },
  });
  const cache = service.rdcp.category('CACHE');
  const evil = '<img src=x onerror="alert(1)"><b>bold</b> \u202egnp.exe\u2066 \u0007\u001b[31m \ud800';
  talk(t, 100, (count) => {
    if (count % 2 === 0) cache.debug(evil, { [evil]: evil, __proto__x: 'x', constructor: 'y' });
    else cache.debug(`long ${'y'.repeat(20_000)}`);
  });
  const { page } = await openView(t, browser, `${service.console}#/tail?categories=CACHE`);
  page.on('dialog', () => assert.fail('nothing runs'));
  await page.getByRole('button', { name: 'Start' }).click();
  await until('lines', async () => (await page.locator(ROWS).count()) > 4);
  const row = page.locator(ROWS).filter({ hasText: 'onerror' }).first();
  await row.click();
  const details = page.getByRole('complementary');
  await details.waitFor();
  assert.equal(await page.locator('main img, main b').count(), 0);
  assert.match(await row.innerText(), /<b>bold<\/b> \\u202egnp\.exe\\u2066 \\u0007\\u001b\[31m/);
  assert.match(await details.innerText(), /\\u202egnp\.exe/);
  assert.equal(await row.locator('.message > bdi').count(), 1);
  await assertAccessible(page, 'the details of a line');

  await details.getByRole('button', { name: 'Copy JSON' }).click();
  await details.getByText('Copied').waitFor();
  await page.getByLabel('Filter lines').focus();
  await page.keyboard.press('Control+V');
  const copied = JSON.parse(await page.getByLabel('Filter lines').inputValue()) as TailLine;
  await page.getByLabel('Filter lines').fill('');
  assert.equal(copied.category, 'CACHE');

  await page.locator(ROWS).filter({ hasText: 'long yyy' }).first().click();
  assert.ok((await details.innerText()).length < 3000, 'a long text begins folded');
  await details
    .getByRole('button', { name: /characters/ })
    .first()
    .click();
  await until('the whole text', async () => (await details.innerText()).length > 8000);

  await page.getByRole('button', { name: 'Pause' }).click();
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page
      .getByText('View', { exact: true })
      .click()
      .then(() => page.getByRole('button', { name: 'Download' }).click()),
  ]);
  assert.match(file.suggestedFilename(), /^tail-CACHE-\d{4}-\d\d-\d\dT.*Z\.ndjson$/);
  const lines = readFileSync(await file.path(), 'utf8')
    .trimEnd()
    .split('\n');
  for (const line of lines) assert.equal((JSON.parse(line) as TailLine).category, 'CACHE');
  assert.ok(lines.length > 4);
});

browserTest('by keyboard alone: choose, start, read a line, stop', async (t, browser) => {
  const service = await startService(t);
  const database = service.rdcp.category('DATABASE');
  talk(t, 100, (count) => database.debug(`query ${count}`, { rows: count }));
  const { page } = await openView(t, browser, `${service.console}#/tail`);
  const keys = async (...names: string[]) => {
    for (const name of names) await page.keyboard.press(name);
  };
  await page.getByRole('combobox', { name: 'Categories' }).focus();
  await page.keyboard.type('data');
  await keys('Enter');
  await page.getByRole('button', { name: 'Remove DATABASE' }).waitFor();
  assert.match(page.url(), /categories=DATABASE/);
  for (let tabs = 0; tabs < 8; tabs++) {
    await keys('Tab');
    if ((await page.evaluate(() => document.activeElement?.textContent)) === 'Start') break;
  }
  await keys('Enter');
  await until('lines', async () => (await page.locator(ROWS).count()) > 6);
  await page.getByRole('listbox', { name: /newest last/ }).focus();
  await keys('ArrowUp', 'ArrowUp');
  const details = page.getByRole('complementary');
  await details.waitFor();
  const chosen = await details.locator('.message').innerText();
  await keys('ArrowUp');
  const number = (text: string) => Number(/\d+/.exec(text)?.[0]);
  assert.equal(number(await details.locator('.message').innerText()), number(chosen) - 1);
  await page.getByRole('button', { name: /Follow/ }).waitFor();
  await keys('Escape');
  await details.waitFor({ state: 'detached' });
  await keys('End');
  await page.getByRole('button', { name: /Follow/ }).waitFor({ state: 'detached' });
});

async function tailEntries({ client }: Pick<ConsoleService, 'client'>) {
  const { entries } = await client.audit({ action: 'tail' });
  return entries.map(({ otelrdcp_tail: tail }) => (tail?.state === 'end' ? tail.reason : tail?.state));
}

browserTest('a tail goes on in other views, and ends by hand, with its page or its reader', async (t, browser) => {
  const service = await startService(t, {
    tenancy: { isolation: 'organization', tenants: { acme: {}, globex: {} } },
  });
  const orders = service.rdcp.category('ORDERS');
  talk(t, 50, (count) => service.rdcp.runWithTenant('acme', () => orders.debug(`order ${count}`)));
  const { page } = await openView(t, browser, `${service.console}#/tail?categories=ORDERS&tenant=acme`);
  await page.getByText('You see and change acme alone').waitFor();
  await page.getByRole('button', { name: 'Start' }).click();
  await until('lines', async () => (await lineCount(page)) > 5);

  await page.getByRole('navigation').getByRole('link', { name: 'Categories' }).click();
  assert.match(page.url(), /#\/categories\?tenant=acme$/);
  const dock = page.getByRole('region', { name: 'Tail' });
  await page.getByLabel('Tenant', { exact: true }).selectOption('globex');
  await page.waitForURL(/tenant=globex$/);
  await enable(page, 'ORDERS', 'as read in the tail');
  const before = await lineCount(page);
  await until('more lines of acme', async () => (await lineCount(page)) > before + 10);
  assert.deepEqual(await tailEntries(service), ['begin']);
  await assertAccessible(page, 'a tail below the categories');

  const asked = page.waitForEvent('dialog').then(async (dialog) => {
    await dialog.dismiss();
    return dialog.type();
  });
  await page.evaluate(() => location.reload());
  assert.equal(await asked, 'beforeunload');
  await dock.getByRole('button', { name: 'Show' }).click();
  await page.waitForURL(/#\/tail\?categories=ORDERS/);
  assert.ok((await lineCount(page)) > before);
  await page.getByRole('button', { name: 'Stop' }).click();
  await until('it has ended', async () => (await tailEntries(service))[0] === 'closed');
  await page.getByRole('button', { name: 'Start' }).click();
  await until('it has begun again', async () => (await tailEntries(service))[0] === 'begin');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await until('it has ended', async () => (await tailEntries(service))[0] === 'closed');
  assert.doesNotMatch(await page.content(), /order \d/);
  await page.locator('#credential').fill(KEYS.admin);
  await page.keyboard.press('Enter');
  await page.getByText('Ready to start').waitFor();
  await startTail(page);
  await page.close();
  await until('it has ended', async () => (await tailEntries(service))[0] === 'closed');
});

browserTest('what a line says becomes a filter, a column or a group, and the address keeps it', async (t, browser) => {
  const service = await startService(t, { tenancy: { isolation: 'organization' } });
  const { rdcp } = service;
  let count = 0;
  const speak = () => {
    for (const shop of ['north', 'south']) {
      count += 1;
      rdcp.category('ORDERS').debug('order', { shop, total: count * 10 });
    }
    rdcp.runWithTenant('acme', () => rdcp.category('CACHE').debug('miss'));
    rdcp.runWithTenant('acme', () => rdcp.category('CACHE').debug('miss'));
  };
  const { page } = await openView(t, browser, `${service.console}#/tail?categories=ORDERS,CACHE`);
  await startTail(page);
  for (let each = 0; each < 10; each++) speak();
  await until('forty lines', async () => (await lineCount(page)) === 40);
  const filter = page.getByLabel('Filter lines');
  const texts = () => page.locator(`${ROWS} .message`).allInnerTexts();
  const shows = (what: string, wanted: (texts: readonly string[]) => boolean) =>
    until(what, async () => wanted(await texts()));

  await page.getByRole('button', { name: 'Fields' }).click();
  const fields = page.getByRole('complementary', { name: 'Fields' });
  await fields.getByRole('button', { name: 'Only shop north' }).click();
  assert.equal(await filter.inputValue(), 'shop:north');
  await shows('ten lines of a shop', (rows) => rows.length === 10 && rows.every((row) => row.includes('shop=north')));
  await fields.getByRole('button', { name: 'Column for total' }).click();
  assert.equal(await page.locator(`${ROWS} .column`).first().innerText(), '10');
  await assertAccessible(page, 'fields and a column');
  await filter.fill('shop:north total>100');
  await shows('large ones', (rows) => rows.length === 5);
  assert.match(page.url(), /filter=shop%3Anorth/);
  const offered = () =>
    page
      .locator('#filter-completions option')
      .evaluateAll((all) => all.map((each) => (each as HTMLOptionElement).value));
  await filter.fill('-sh');
  await until('completions', async () => (await offered()).includes('-shop:'));

  await filter.fill('shop:north');
  await shows('ten lines again', (rows) => rows.length === 10);
  await page.locator(ROWS).first().click();
  const details = page.getByRole('complementary', { name: 'The chosen line' });
  await filter.fill('');
  await details.getByRole('button', { name: 'Leave out shop north' }).click();
  await shows('others', (rows) => rows.length === 30 && !rows.some((row) => row.includes('north')));
  await details.getByText(/\d\d:\d\d:\d\d\.\d{3}/).waitFor();
  const [list, beside] = [await page.locator('.log').boundingBox(), await details.boundingBox()];
  assert.ok(list && beside && beside.x >= list.x + list.width, 'the details are beside the lines');
  await details.getByRole('button', { name: 'Close' }).click();

  await filter.fill('tenant:acme');
  await page.locator('summary', { hasText: 'View' }).click();
  await page.getByRole('button', { name: 'Fold equal lines' }).click();
  await shows('one line for twenty', (rows) => rows.length === 1 && rows[0]!.startsWith('×20'));
  await page.getByRole('button', { name: 'Copy as curl' }).click();
  await page.getByText('Copied').waitFor();
  await filter.fill('');
  await page.keyboard.press('Control+V');
  assert.match(await filter.inputValue(), /^curl -N \S+\/rdcp\/v1\/tail .*"categories":\["ORDERS","CACHE"\]/);
  await filter.fill('');

  const plot = (await page.locator('.histogram svg').first().boundingBox())!;
  await page.mouse.move(plot.x + plot.width / 2, plot.y + 10);
  await page.mouse.down();
  await page.mouse.move(plot.x + plot.width - 1, plot.y + 10);
  await page.mouse.up();
  assert.match(await filter.inputValue(), /^time>=\d\d:\d\d:\d\d\.\d{3} time<=\d\d:\d\d:\d\d\.\d{3}$/);

  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('button', { name: 'Save …' }).click();
  await page.getByLabel('Name').fill('checkout');
  await page.keyboard.press('Enter');
  await page.getByLabel('Saved tails').waitFor();
  await assertAccessible(page, 'a saved tail');
  const kept = await page.evaluate(() => [{ ...localStorage }, { ...sessionStorage }]);
  assert.deepEqual(Object.keys(kept[0]!), ['rdcp.tails']);
  assert.deepEqual(kept[1], {});
  assert.ok(!JSON.stringify(kept).includes(KEYS.admin));
});

browserTest('a ninth tail of a credential is refused, and says when to try again', async (t, browser) => {
  const { client, ...service } = await startService(t);
  const controller = new AbortController();
  t.after(() => controller.abort());
  for (let each = 0; each < 8; each++) await client.tail('ORDERS', { signal: controller.signal }).next();
  const { page } = await openView(t, browser, `${service.console}#/tail?categories=ORDERS`);
  await page.getByRole('button', { name: 'Start' }).click();
  const notice = page.getByRole('alert');
  await notice.getByText(/8 tails of this credential are open already/).waitFor();
  await notice.getByText(/\d+ s/).waitFor();
  await assertAccessible(page, 'a tail that is refused');
  controller.abort();
  await until('places', async () => (await tailEntries({ client })).filter((state) => state === 'closed').length === 8);
  await startTail(page);
  await notice.waitFor({ state: 'detached' });
});

browserTest('recorded lines of failed work are one entry, and are kept over a reload', async (t, browser) => {
  const service = await startService(t);
  const orders = service.rdcp.category('ORDERS');
  const order = (id: number, fails: boolean) =>
    runWork(`order ${id}`, async () => {
      orders.debug(`order ${id} is checked`, { order: id });
      orders.debug(`order ${id} is paid`, { order: id });
      if (fails) throw new Error('refused');
    }).catch(() => {});
  const { page } = await openView(t, browser, `${service.console}#/tail?categories=ORDERS&failed=true`);
  await startTail(page);
  await order(1, false);
  await order(2, true);
  const group = page.locator('.log-row.group', { hasText: '2 lines' });
  const lineOf = (text: string) => page.locator('.log-row:not(.group)', { hasText: text });
  await group.waitFor();
  await group.click();
  await lineOf('order 2 is checked').waitFor();
  await lineOf('order 2 is paid').waitFor();
  assert.doesNotMatch((await page.locator('.log-lines').textContent()) ?? '', /order 1/);
  await assertAccessible(page, 'recorded lines');

  await page.getByRole('button', { name: 'Stop' }).click();
  await page.locator('summary', { hasText: 'View' }).click();
  await page.getByLabel('Keep the lines over a reload').check();
  page.on('dialog', () => assert.fail('nothing is lost, so nothing is asked'));
  await page.reload();
  const signIn = async (key: string) => {
    await page.locator('#credential').fill(key);
    await page.keyboard.press('Enter');
    await page.locator('main#view').waitFor();
  };
  await signIn(KEYS.admin);
  await page.getByText('from before this page was loaded again').waitFor();
  await group.click();
  await lineOf('order 2 is paid').waitFor();
  await page.reload();
  await signIn(KEYS.operator);
  await page.locator('#view').waitFor();
  assert.doesNotMatch(await page.content(), /order 2/);
  await page.reload();
  await signIn(KEYS.admin);
  await page.getByText('Ready to start').waitFor();
});

browserTest(
  'the newest lines stay in sight while the window changes, until somebody scrolls up',
  async (t, browser) => {
    const { page, ...service } = await openConsole(t, browser, { view: '#/tail?categories=CACHE' });
    talk(t, 5, (count) => service.rdcp.category('CACHE').debug(`hit ${count}`));
    await startTail(page);
    await until('more lines than fit', async () => (await lineCount(page)) > 60);
    for (let turn = 0; turn < 20; turn += 1) {
      await page.setViewportSize({ width: 1280, height: turn % 2 === 0 ? 500 : 900 });
      const before = await lineCount(page);
      await until('new lines', async () => (await lineCount(page)) > before);
    }
    assert.equal(await page.getByRole('button', { name: /Follow the newest/ }).count(), 0);
    await page.locator('.log-lines').hover();
    await page.mouse.wheel(0, -300);
    await page.getByRole('button', { name: /Follow the newest/ }).click();
    await page.getByRole('button', { name: /Follow the newest/ }).waitFor({ state: 'detached' });
  },
);
