import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { category, runWithAttributes, runWork } from '../../src/api.ts';
import { createRdcpClient } from '../../src/client.ts';
import { until } from '../support/until.ts';
import { go } from './drive.ts';
import { assertAccessible, browserTest, KEYS, startService } from './support.ts';
import { openConsole, openView, ROWS, startTail, talk } from './views.ts';

// What is drawn is what happened, and the table behind each picture says the same.

/** The figures of a picture's table, by column. */
async function tableOf(page: Page, name: string): Promise<readonly Readonly<Record<string, string>>[]> {
  const table = page.getByRole('table', { name, exact: true });
  const heads = await table.getByRole('columnheader').allTextContents();
  const rows = await table.locator('tbody tr').all();
  const cells = await Promise.all(rows.map((row) => row.locator('th, td').allTextContents()));
  return cells.map((texts) => Object.fromEntries(heads.map((head, at) => [head, texts[at] ?? ''])));
}

/** Where the parts of a lane's bars begin and how long they are, in percent. */
const partsOf = (lane: Locator) =>
  lane.locator('rect').evaluateAll((rects) =>
    rects.map((rect) => ({
      kind: rect.getAttribute('class'),
      tone: rect.parentElement?.getAttribute('class'),
      from: Number.parseFloat(rect.getAttribute('x') ?? ''),
      size: Number.parseFloat(rect.getAttribute('width') ?? ''),
    })),
  );

browserTest('work that failed is drawn by the minute, and its lines open in the tail', async (t, browser) => {
  const { page } = await openConsole(t, browser, { config: { recorder: { categories: ['FAILING'] } } });
  const failing = category('FAILING');
  for (const user of ['42', '43', '44']) {
    runWithAttributes({ 'user.id': user }, () =>
      runWork('order', () => {
        failing.debug(`of customer ${user}`);
        failing.fail(new RangeError('secret'));
      }),
    );
  }
  await go(page, '#/failures');
  const main = page.locator('main');
  await main.getByText('3 failures').waitFor();
  const titles = await page.locator('.histogram .part title').allTextContents();
  const counts = titles.map((text) => Number.parseInt(text, 10));
  assert.equal(
    counts.reduce((all, each) => all + each, 0),
    3,
  );
  const rows = await tableOf(page, 'Failures per minute');
  assert.deepEqual(
    rows.map((row) => Number(row.Number)),
    counts,
  );
  const bars = (await page.locator('.histogram path').getAttribute('d'))?.match(/M/g);
  assert.equal(bars?.length, counts.filter(Boolean).length, 'quiet minutes have none');
  await assertAccessible(page, 'failures');
  await main.getByLabel('Only work with').fill('user.id=42');
  await page.keyboard.press('Enter');
  await main.getByText('1 failure').waitFor();
  await main.getByRole('button', { name: /order failed after/ }).click();
  await main.getByText('of customer 42').waitFor();
  await main.getByText('all recorded lines have arrived').waitFor();
});

browserTest('calls over time are there when the page opens, with what was switched and dropped', async (t, browser) => {
  const service = await startService(t, { categories: { CACHE: { enabled: true }, ORDERS: {} } });
  const cache = service.rdcp.category('CACHE');
  for (let call = 0; call < 120; call += 1) cache.debug('hit');
  const { page } = await openView(t, browser, `${service.console}#/categories/CACHE`);
  const drawn = page.locator('.curve .line-of');
  await until('the mean of the last minute is drawn', async () => /L/.test((await drawn.getAttribute('d')) ?? ''));
  const means = (await tableOf(page, 'Calls over time')).map(({ Mean = '' }) => Mean).reverse();
  assert.equal(means.length, 15);
  assert.ok(Number.parseFloat(means[0] ?? '') > 0, means.join());
  assert.deepEqual([...new Set(means.slice(2))], ['-'], 'what was not seen is no 0');

  await go(page, '#/categories/ORDERS');
  await page.locator('.curve .peak').waitFor({ state: 'detached' });
  await service.client.enable('ORDERS', { duration: '10m', otelrdcp_budget: { callsPerSecond: 1 } });
  const orders = service.rdcp.category('ORDERS');
  const measured = new Set<number>();
  // More and more.
  talk(t, 50, (count) => {
    for (let call = 0; call < count / 10; call += 1) orders.debug('order');
  });
  await page.locator('.marks .on text', { hasText: 'on, admin' }).waitFor();
  await until('calls and dropped lines', async () => {
    const last = (await tableOf(page, 'Calls over time')).at(-1);
    return Number.parseFloat(last?.Mean ?? '') > 0 && Number(last?.Dropped) > 0;
  });
  assert.match((await page.locator('.curve .losses').getAttribute('d')) ?? '', /^M/);
  await until('ten measurements, none above the peak of the curve', async () => {
    const [rate = 0, peak = 0] = await page.evaluate(() =>
      ['.picture .rate', '.curve .peak'].map((each) =>
        Number.parseFloat(document.querySelector(each)?.textContent ?? ''),
      ),
    );
    assert.ok(rate <= peak, `${rate} above ${peak}`);
    measured.add(rate);
    return measured.size >= 10;
  });
  await page.locator('.curve .peak', { hasText: /^\d[\d.]*\/s$/ }).waitFor();
  const marked = (await tableOf(page, 'Calls over time')).map(({ Switched }) => Switched).join('');
  assert.equal(marked, 'on, admin');
  await service.client.reset('ORDERS');
  await page.locator('.marks .error text', { hasText: 'off' }).waitFor();
});

browserTest('who is on when is a lane from switch to end, and for whom is a matrix', async (t, browser) => {
  const { client, ...service } = await startService(t, {
    tenancy: { isolation: 'organization', tenants: { acme: {} } },
  });
  const acmeClient = createRdcpClient({ baseUrl: service.url, apiKey: KEYS.admin, tenantId: 'acme' });
  await acmeClient.enable('CACHE', { duration: '5m' });
  await client.enable('ORDERS', { duration: '10m' });
  await client.enable('DATABASE', { duration: '20m', otelrdcp_record: true });
  const { page } = await openView(t, browser, service.console);
  const figure = page.locator('figure', { hasText: 'Who is on when' });
  const names = figure.locator('.lane-name');
  await figure.waitFor();
  assert.deepEqual((await names.allInnerTexts()).sort(), ['CACHE acme', 'DATABASE recorded', 'ORDERS everybody']);
  const lanes = Object.fromEntries(
    await Promise.all(
      (await names.allInnerTexts()).map(
        async (name, at) => [name, await partsOf(figure.locator('.lane').nth(at))] as const,
      ),
    ),
  );
  const planned = (name: string) => lanes[name]?.find(({ kind }) => kind === 'planned');
  const close = (one = 0, other = 0) => assert.ok(Math.abs(one - other) < 2, `${one} beside ${other}`);
  close((planned('ORDERS everybody')?.size ?? 0) / (planned('CACHE acme')?.size ?? 1), 2);
  close((planned('DATABASE recorded')?.size ?? 0) / (planned('CACHE acme')?.size ?? 1), 4);
  const now = Number.parseFloat((await figure.locator('.now').first().getAttribute('x1')) ?? '');
  for (const name of Object.keys(lanes)) close(planned(name)?.from, now);
  assert.deepEqual(
    ['ORDERS everybody', 'CACHE acme', 'DATABASE recorded'].map((name) => planned(name)?.tone),
    ['on', 'one-tenant', 'recorded'],
  );
  assert.equal(await figure.locator('.lane text', { hasText: 'AD' }).count(), 3);
  assert.deepEqual(
    (await tableOf(page, 'Who is on when'))
      .map((row) => `${row.Category} ${row['For whom']} ${row.When?.replaceAll(/\d\d/g, '00')}`)
      .sort(),
    ['CACHE acme', 'DATABASE recorded', 'ORDERS everybody'].map((name) => `${name} 00:00:00 to 00:00:00, admin`),
  );
  await assertAccessible(page, 'who is on when');
  for (let user = 0; user < 6; user += 1) {
    await client.enable('CACHE', { duration: '5m', otelrdcp_target: { match: { 'user.id': String(user) } } });
  }
  await figure.getByText('the newest 8 of 9').waitFor();
  await client.disable('CACHE', { duration: '5m' });

  await client.reset('ORDERS');
  await names.filter({ hasText: 'ORDERS' }).waitFor({ state: 'detached' });
  await go(page, '#/audit');
  const past = page.locator('figure', { hasText: 'Who was on when' });
  await past.locator('.lane-name', { hasText: 'ORDERS' }).waitFor();
  const at = (await past.locator('.lane-name').allInnerTexts()).findIndex((name) => name.startsWith('ORDERS'));
  await until('what has ended has no planned part', async () =>
    (await partsOf(past.locator('.lane').nth(at))).every(({ kind }) => kind !== 'planned'),
  );
  await assertAccessible(page, 'who was on when');
  await page.getByLabel('Action').selectOption('reset');
  await past.waitFor({ state: 'detached' });
});

browserTest('the lines of a trace are a waterfall: each lasts until the next one', async (t, browser) => {
  const { page, ...service } = await openConsole(t, browser, { view: '#/tail?categories=ORDERS,CACHE' });
  await startTail(page);
  const trace = 'f'.repeat(32);
  for (const [name, message] of [
    ['ORDERS', 'asked for'],
    ['CACHE', 'missed'],
    ['ORDERS', 'refused'],
  ] as const) {
    service.rdcp.category(name).debug(message, { trace });
    service.rdcp.category(name).debug('of another trace', { trace: 'e'.repeat(32) });
    const next = Date.now() + (message === 'asked for' ? 40 : 120);
    await until('the time of the next line', () => Date.now() >= next);
  }
  await page.locator(ROWS, { hasText: 'refused' }).click();
  const details = page.getByRole('complementary', { name: 'The chosen line' });
  assert.deepEqual(await details.locator('.lane-name').allInnerTexts(), [
    'ORDERS asked for',
    'CACHE missed',
    'ORDERS ▸ refused',
  ]);
  const offsets = (await details.locator('.lanes > .muted').allInnerTexts()).map((text) =>
    Number.parseInt(text.slice(1), 10),
  );
  const [first = 0, second = 0, last = 0] = offsets;
  assert.ok(first === 0 && second >= 30 && last >= second + 100, offsets.join());
  const bars = await Promise.all([0, 1, 2].map((at) => partsOf(details.locator('.lane').nth(at))));
  const [[asked] = [], [missed] = [], refused] = bars;
  assert.ok(Math.abs((asked?.size ?? 0) - (second / last) * 100) < 1, JSON.stringify(bars));
  assert.ok(Math.abs((missed?.from ?? 0) - (second / last) * 100) < 1, JSON.stringify(bars));
  assert.deepEqual(refused, [], 'the last one is a moment');
  const colours = await page
    .locator(`${ROWS} .category`)
    .evaluateAll((cells) => cells.map((cell) => `${cell.textContent} ${getComputedStyle(cell).color}`));
  assert.equal(new Set(colours).size, 2, 'a colour for each category');
  await assertAccessible(page, 'a waterfall');
  await page.setViewportSize({ width: 390, height: 844 });
  const sheet = await details.boundingBox();
  assert.ok(sheet && Math.abs(sheet.y + sheet.height - 844) < 2 && sheet.width > 380, JSON.stringify(sheet));
});

browserTest('dropped lines are seen at every width, and no cell is larger than its row', async (t, browser) => {
  const { client, ...service } = await startService(t, { recorder: { categories: ['CACHE'] } });
  await client.enable('CACHE', {
    duration: '1h',
    otelrdcp_budget: { callsPerSecond: 1, calls: 10_000, bytes: 1_000_000 },
  });
  const cache = service.rdcp.category('CACHE');
  talk(t, 20, () => cache.debug('hit'));
  const { page } = await openView(t, browser, service.console);
  const row = page.locator('[role=row][data-name=CACHE]');
  for (const width of [1440, 1024, 768, 390]) {
    await page.setViewportSize({ width, height: 900 });
    const dropped = row.getByText(/dropped$/);
    await dropped.waitFor();
    const [outer, inner, ...cells] = await Promise.all([
      ...[row.boundingBox(), dropped.boundingBox()],
      ...(await row.locator('.cell > *').all()).map((cell) => cell.boundingBox()),
    ]);
    for (const box of [inner, ...cells]) {
      if (!box || !outer) continue;
      const isInside = box.y >= outer.y - 1 && box.y + box.height <= outer.y + outer.height + 1;
      assert.ok(isInside, `${width}: ${JSON.stringify(box)} in ${JSON.stringify(outer)}`);
    }
  }
});

browserTest('keys lead to content, lines and Reset; a laptop has its header in one row', async (t, browser) => {
  const { client, ...service } = await startService(t, {
    tenancy: { isolation: 'organization', tenants: { acme: {} } },
  });
  await client.enable('CACHE', { duration: '10m' });
  const { page } = await openView(t, browser, service.console, { viewport: { width: 1024, height: 768 } });
  const focused = () => page.evaluate(() => document.activeElement?.id || document.activeElement?.className);
  assert.equal(await focused(), 'view', 'after the sign-in');
  const header = await page.locator('header.top').boundingBox();
  assert.ok((header?.height ?? 99) < 60, JSON.stringify(header));
  await page.getByRole('link', { name: 'CACHE', exact: true }).focus();
  await page.keyboard.press('r');
  await page.getByRole('dialog', { name: 'Reset CACHE' }).waitFor();
  await page.keyboard.press('Escape');
  await go(page, '#/categories/CACHE');
  await page.keyboard.press('r');
  await page.getByRole('dialog', { name: 'Reset CACHE' }).getByLabel('Reason').fill('found it');
  await page.keyboard.press('Enter');
  await page.locator('h1 + .badge', { hasText: 'Off' }).waitFor();
  await go(page, '#/tail?categories=CACHE');
  await page.locator('main#view:focus').waitFor();
  await page.keyboard.press('s');
  await page.locator('.log-lines').waitFor();
  await page.keyboard.press('l');
  assert.equal(await focused(), 'log-lines');
});
