import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRdcpClient } from '../../src/client.ts';
import type { TailLine } from '../../src/protocol/streams.ts';
import { go, until } from './drive.ts';
import { assertAccessible, browserTest, type ConsoleService, KEYS, startService } from './support.ts';
import { NOTES, openView, ROWS, startFleet, talk } from './views.ts';

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
  await page.getByRole('searchbox').fill('no line has this');
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
    'the fleet has two processes',
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
  await page.getByRole('searchbox').focus();
  await page.keyboard.press('Control+V');
  const copied = JSON.parse(await page.getByRole('searchbox').inputValue()) as TailLine;
  await page.getByRole('searchbox').fill('');
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
    page.getByRole('button', { name: 'Download' }).click(),
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

async function tailEntries(service: ConsoleService) {
  const client = createRdcpClient({ baseUrl: service.url, apiKey: KEYS.admin });
  const { entries } = await client.audit({ action: 'tail' });
  return entries.map(({ otelrdcp_tail: tail }) => (tail?.state === 'end' ? tail.reason : tail?.state));
}

browserTest('leaving the view ends the tail on the server, and so does closing the page', async (t, browser) => {
  const service = await startService(t);
  const { page } = await openView(t, browser, `${service.console}#/tail?categories=ORDERS`);
  const start = async () => {
    await page.getByRole('button', { name: 'Start' }).click();
    await page.locator('#view').getByText('Live', { exact: true }).waitFor();
  };
  await start();
  await go(page, '#/health');
  await until('the tail has ended', async () => (await tailEntries(service))[0] === 'closed');
  await go(page, '#/tail?categories=ORDERS');
  await start();
  await page.close();
  await until('it has ended', async () => (await tailEntries(service)).join() === 'closed,begin,closed,begin');
});

browserTest('a third tail of an identity is refused, and says when to try again', async (t, browser) => {
  const service = await startService(t);
  const client = createRdcpClient({ baseUrl: service.url, apiKey: KEYS.admin });
  const controller = new AbortController();
  t.after(() => controller.abort());
  for (let each = 0; each < 2; each++) await client.tail('ORDERS', { signal: controller.signal }).next();
  const { page } = await openView(t, browser, `${service.console}#/tail?categories=ORDERS`);
  await page.getByRole('button', { name: 'Start' }).click();
  const notice = page.getByRole('alert');
  await notice.getByText(/2 tails of this client are open already/).waitFor();
  await notice.getByText(/\d+ s/).waitFor();
  await assertAccessible(page, 'a tail that is refused');
  controller.abort();
  await until('places', async () => (await tailEntries(service)).filter((state) => state === 'closed').length === 2);
  await page.getByRole('button', { name: 'Start' }).click();
  await page.locator('#view').getByText('Live', { exact: true }).waitFor();
  await notice.waitFor({ state: 'detached' });
});
