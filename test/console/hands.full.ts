import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { runWork } from '../../src/api.ts';
import { until } from '../support/until.ts';
import { enable, go, rowOf, signIn, waitForState } from './drive.ts';
import { assertAccessible, browserTest, type ConsoleService, KEYS, openPage, startService } from './support.ts';
import { lineCount, NOTES, openConsole, openView, ROWS, startFleet, talk } from './views.ts';

// What a person does with mouse and keys, how often, and what is in sight.

const TRACES = ['a', 'b', 'c', 'd'].map((digit) => digit.repeat(32));

/** A shop whose checkouts fail for acme, with an attribute that names the trace. */
function sell(service: ConsoleService): (count: number) => void {
  const checkout = service.rdcp.category('CHECKOUT');
  return (count) => {
    const trace = TRACES[count % 4];
    service.rdcp.runWithTenant(count % 2 === 0 ? 'acme' : 'globex', () => {
      checkout.debug('basket priced', { trace, total: 42 });
      checkout.debug(count % 2 === 0 ? 'payment refused' : 'paid', { trace });
    });
  };
}

const SHOP = {
  categories: { CHECKOUT: { description: 'From the basket to the payment' }, CACHE: {}, DATABASE: {}, MAIL: {} },
  tenancy: { isolation: 'organization', tenants: { acme: {}, globex: {} } },
} as const;

async function showsOneTrace(page: Page): Promise<void> {
  await until('the lines of one trace', async () => {
    const texts = await page.locator(`${ROWS} .message`).allInnerTexts();
    const traces = new Set(texts.map((text) => /trace=(\w+)/.exec(text)?.[1]));
    return texts.length > 1 && traces.size === 1 && texts.every((text) => text.startsWith('acme'));
  });
}

/** A person at the page, and how often they clicked and pressed a key. */
function handsOn(page: Page) {
  const used = { clicks: 0, keys: 0 };
  return {
    used,
    click: async (what: Locator) => {
      used.clicks += 1;
      await what.click();
    },
    press: async (...names: string[]) => {
      used.keys += names.length;
      for (const name of names) await page.keyboard.press(name);
    },
  };
}

interface Desk extends ReturnType<typeof handsOn> {
  readonly page: Page;
  readonly service: ConsoleService;
  readonly button: (name: string | RegExp) => Locator;
}

/** What a person comes for, with the most clicks and keys that it may take after the sign-in. */
const DRILLS: Readonly<
  Record<string, readonly [clicks: number, keys: number, drill: (desk: Desk) => Promise<unknown>]>
> = {
  "why acme's checkouts fail": [
    5,
    15,
    async ({ page, click, press, button }) => {
      await press('/', ...'check');
      await click(rowOf(page, 'CHECKOUT').getByRole('button', { name: 'Tail CHECKOUT' }));
      await click(page.locator(`${ROWS} .tenant`, { hasText: 'acme' }).first());
      await click(page.locator(ROWS, { hasText: 'payment refused' }).first());
      await click(button('Only this trace').first());
      await showsOneTrace(page);
    },
  ],
  'the same by keyboard alone': [
    0,
    15,
    async ({ page, press }) => {
      await press('/', ...'che');
      await rowOf(page, 'CACHE').waitFor({ state: 'visible' });
      await press('c');
      await rowOf(page, 'DATABASE').waitFor({ state: 'detached' });
      await press('ArrowDown', 't');
      await until('lines of both tenants', async () => (await lineCount(page)) > 6);
      await press('/', ...'acm', 'Enter');
      await page.getByRole('complementary', { name: 'The chosen line' }).waitFor();
      await press('t');
      await showsOneTrace(page);
    },
  ],
  'the debug lines of one user': [
    3,
    10,
    async ({ page, service, click, press, button }) => {
      await click(button('Enable CHECKOUT'));
      await click(button('One user or request'));
      await press(...'user.id=4');
      await click(button('Enable for user.id=4 for 15 min'));
      await rowOf(page, 'CHECKOUT').getByText('only user.id=4').waitFor();
      const [checkout] = (await service.client.discovery()).categories.filter(({ name }) => name === 'CHECKOUT');
      assert.deepEqual(checkout?.otelrdcp_activations?.[0]?.target, { match: { 'user.id': '4' } });
    },
  ],
  'the failures of two categories for a day, and the first one arriving': [
    5,
    0,
    async ({ page, service, click, button }) => {
      for (const name of ['CHECKOUT', 'CACHE']) await click(page.getByLabel(`Select ${name}`));
      await click(button('Record failures…'));
      await click(button('Record failures for 1 d'));
      await click(page.getByRole('region', { name: 'Answers' }).getByRole('button', { name: 'Tail' }));
      await page.locator('.setup .chip', { hasText: 'Only failures' }).waitFor();
      await page.locator('#view').getByText('Live', { exact: true }).waitFor();
      const work = runWork('order', () => {
        service.rdcp.category('CACHE').debug('missed');
        service.rdcp.category('CHECKOUT').fail(new RangeError('no basket'));
      });
      await work;
      await page.locator('.log-row.group', { hasText: /order failed .*RangeError/ }).waitFor();
    },
  ],
  'a category that was forgotten': [
    2,
    0,
    async ({ page, service, click, button }) => {
      await service.client.enable('MAIL', { temporary: false, reason: 'forgotten' });
      await rowOf(page, 'MAIL')
        .getByText(/^permanent, since/)
        .waitFor();
      await rowOf(page, 'MAIL').getByText('admin: forgotten').waitFor();
      await click(button('Turn off for good MAIL'));
      await click(page.getByRole('dialog').getByRole('button', { name: /^Turn off/ }));
      await rowOf(page, 'MAIL').getByText('Off', { exact: true }).waitFor();
      const [mail] = (await service.client.discovery()).categories.filter(({ name }) => name === 'MAIL');
      assert.equal(mail?.otelrdcp_origin, 'default');
    },
  ],
};

for (const [what, [clicks, keys, drill]] of Object.entries(DRILLS)) {
  browserTest(`${what}: at most ${clicks} clicks and ${keys} keys`, async (t, browser) => {
    const { page, ...service } = await openConsole(t, browser, { config: SHOP });
    talk(t, 100, sell(service));
    const hands = handsOn(page);
    await drill({ ...hands, page, service, button: (name) => page.getByRole('button', { name }) });
    t.diagnostic(JSON.stringify(hands.used));
    assert.ok(hands.used.clicks <= clicks && hands.used.keys <= keys, JSON.stringify(hands.used));
  });
}

browserTest('a process that hangs is a banner and a square before anything is clicked', async (t, browser) => {
  const [serving, second] = await startFleet(t, 2);
  const { page } = await openView(t, browser, serving!.console);
  await page.getByRole('link', { name: 'Fleet' }).waitFor();
  second!.child.kill('SIGSTOP');
  t.after(() => second!.child.kill('SIGCONT'));
  const banner = page.locator('.banner', { hasText: 'Not every process is heard of' });
  await banner.locator('strong', { hasText: `:${second!.child.pid}` }).waitFor();
  assert.equal(await banner.locator('.square.error').count(), 1);
});

browserTest('on a phone the first line of a tail is in the upper third', async (t, browser) => {
  const service = await startService(t, SHOP);
  talk(t, 100, sell(service));
  const { page } = await openPage(t, browser, service.console, { viewport: { width: 390, height: 844 } });
  await signIn(page, KEYS.admin);
  await rowOf(page, 'CHECKOUT').getByRole('button', { name: 'Tail CHECKOUT' }).click();
  await page.locator(NOTES).first().waitFor();
  const { y = Number.NaN } = (await page.locator('.log').boundingBox()) ?? {};
  assert.ok(y <= 844 / 3, `it begins at ${y}`);
});

browserTest('a change keeps its row in place and can be shown, tailed and undone', async (t, browser) => {
  const { client, ...service } = await startService(t, {
    ...SHOP,
    tenancy: { ...SHOP.tenancy, tenants: { ['t'.repeat(120)]: {} } },
  });
  const { page } = await openPage(t, browser, service.console);
  await signIn(page, KEYS.admin);
  const placeOf = async (name: string) => (await rowOf(page, name).boundingBox())?.y ?? Number.NaN;
  const before = await placeOf('MAIL');
  await enable(page, 'MAIL', 'where mails stay');
  await waitForState(page, 'MAIL', 'On');
  assert.ok(Math.abs((await placeOf('MAIL')) - before) < 5, 'the row is where it was');
  const toast = page.getByRole('region', { name: 'Answers' });
  await toast.getByRole('button', { name: 'Undo' }).click();
  await waitForState(page, 'MAIL', 'Off');
  assert.equal((await client.discovery()).categories.find(({ name }) => name === 'MAIL')?.otelrdcp_origin, 'default');
  await toast.getByRole('button', { name: 'Tail' }).first().click();
  await page.locator('#view').getByText('Live', { exact: true }).waitFor();

  await go(page, '#/categories');
  await page.getByRole('button', { name: 'Enable CACHE' }).click();
  const dialog = page.getByRole('dialog');
  const [box, list] = [await dialog.boundingBox(), await dialog.getByLabel('For whom').boundingBox()];
  assert.ok(box && list && list.x + list.width <= box.x + box.width, 'a long name does not cut the dialog');
});

browserTest('everything is reached by keys: palette, ranges, search, account, tenants', async (t, browser) => {
  const { page } = await openConsole(t, browser, { config: SHOP });
  const press = async (...names: string[]) => {
    for (const name of names) await page.keyboard.press(name);
  };
  const selected = page.getByRole('region', { name: 'Selected categories' });
  await press('/', 'ArrowDown', 'x', 'ArrowDown', 'ArrowDown', 'X');
  await selected.getByText('3 selected').waitFor();
  await press('a');
  await selected.waitFor({ state: 'detached' });
  await press('a');
  await selected.getByText(/^\d+ selected/).waitFor();
  await selected.getByRole('button', { name: 'Measure…' }).click();
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /^Forecast/ })
    .click();
  await page.getByRole('dialog').getByText('1 of 1 process').waitFor();
  await press('Escape', 'm');
  await page.getByRole('button', { name: 'Measuring …' }).waitFor();

  await press('Control+k');
  const palette = page.getByRole('dialog', { name: 'Go to or do' });
  await page.keyboard.type('enb datab');
  await palette.getByRole('option', { selected: true }).getByText('Enable DATABASE').waitFor();
  await assertAccessible(page, 'the palette');
  await press('Enter');
  await page.getByRole('dialog', { name: 'Enable DATABASE' }).waitFor();
  await press('Escape', 'Control+k');
  await page.keyboard.type('tenant acme');
  await press('Enter');
  await page.getByText('You see and change acme alone').waitFor();

  const focused = () => page.evaluate(() => document.activeElement?.outerHTML.slice(0, 200) ?? '');
  for (const view of ['audit', 'tenants', 'health']) {
    await go(page, `#/${view}`);
    await page.locator('main .loading').waitFor({ state: 'detached' });
    await press('/');
    await until(`a search in ${view}`, async () => (await focused()).includes('type="search"'));
  }
  await until('the tenant field', async () => {
    await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    await press('n');
    return (await focused()).startsWith('<select');
  });
  for (let tabs = 0; tabs < 6 && !(await focused()).startsWith('<summary'); tabs += 1) await press('Tab');
  await press('Enter');
  await page.locator('.menu-body').getByText('Signed in as').waitFor();
});

// Last, because a process keeps the categories that it has had.
browserTest('a laptop shows 25 categories, and a tablet has columns', async (t, browser) => {
  const names = Array.from({ length: 40 }, (_, at) => [`MODULE_${String(at).padStart(2, '0')}`, { description: 'd' }]);
  const { page } = await openConsole(t, browser, {
    config: { categories: Object.fromEntries(names) },
    viewport: { width: 1440, height: 900 },
  });
  const inSight = () =>
    page
      .locator('[role=row][data-name]')
      .evaluateAll((rows) => rows.filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length);
  assert.ok((await inSight()) >= 25, `${await inSight()} rows`);
  await page.setViewportSize({ width: 768, height: 1024 });
  assert.equal(await page.locator('.grid.cards').count(), 0);
  assert.ok((await inSight()) >= 25, `${await inSight()} rows on a tablet`);
  assert.ok(await page.getByRole('button', { name: 'Enable MODULE_00' }).isVisible());
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${wide} pixels too wide`);
});
