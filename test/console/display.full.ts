import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { createRdcpClient } from '../../src/client.ts';
import { until } from '../support/until.ts';
import { go, signIn } from './drive.ts';
import { accessibilityFindings, browserTest, KEYS, openPage, startService } from './support.ts';
import { openConsole, openView, ROWS, talk } from './views.ts';

// How the page shows on other screens, with the settings that people need, and to readers of the screen.

const VIEWS = [
  'categories',
  'categories/CACHE',
  'tail?categories=CACHE,ORDERS,DATABASE',
  'failures',
  'audit',
  'fleet',
  'health',
  'tenants',
];

const SCREENS = {
  'a narrow phone': { viewport: { width: 320, height: 640 } },
  'a window at 200 %': { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 },
  'a phone at 200 %': { viewport: { width: 320, height: 400 }, deviceScaleFactor: 4 },
  'a 4K screen': { viewport: { width: 3840, height: 2160 } },
};

for (const [screen, options] of Object.entries(SCREENS)) {
  browserTest(`on ${screen} no view and no dialog needs scrolling sideways`, async (t, browser) => {
    const { client, ...service } = await startService(t, {
      tenancy: { isolation: 'organization', tenants: { acme: { name: 'Acme Ltd' } } },
    });
    await client.enable('CACHE', { duration: '10m', reason: 'a reason that is rather long, for a row that is not' });
    await client.enable('ORDERS', { temporary: false, reason: 'w'.repeat(400) });
    const cache = service.rdcp.category('CACHE');
    talk(t, 50, (count) => cache.debug(`hit ${count}`, { sql: 'select * from orders where customer = 1' }));
    const { page } = await openPage(t, browser, service.console, options);
    await signIn(page, KEYS.admin);
    await go(page, '#/tail?categories=CACHE,ORDERS,DATABASE');
    await assertFits(page, 'a tail before it begins');
    await page.getByRole('button', { name: 'Start' }).click();
    await page.locator(ROWS).first().click();
    for (const view of VIEWS) {
      await go(page, `#/${view}`);
      await loaded(page);
      await assertFits(page, view);
    }
    await go(page, '#/categories/DATABASE');
    await page.getByRole('button', { name: 'Enable…' }).click();
    await page.getByRole('dialog').getByText('Limit its output').click();
    await assertFits(page, 'the dialog');
    const outside = await page.evaluate(() => {
      const { right, bottom } = (document.querySelector('dialog') as Element).getBoundingClientRect();
      return right > innerWidth || bottom > innerHeight;
    });
    assert.equal(outside, false, 'the dialog lies within the window');
  });
}

browserTest('rows become cards when the window gets as narrow as a phone, and columns again', async (t, browser) => {
  const service = await startService(t);
  await createRdcpClient({ baseUrl: service.url, apiKey: KEYS.admin }).enable('CACHE', { reason: 'for the trail' });
  const { page } = await openPage(t, browser, service.console, { viewport: { width: 1024, height: 768 } });
  await signIn(page, KEYS.admin);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.locator('.grid.cards').waitFor();
  await assertFits(page, 'the list of cards');
  await page.setViewportSize({ width: 768, height: 1024 });
  await page.locator('.grid:not(.cards)').waitFor();
  await go(page, '#/audit');
  await page.getByRole('columnheader', { name: 'Reason' }).waitFor();
  await assertFits(page, 'the audit trail');
});

/** Waits until a view shows its content. */
async function loaded(page: Page): Promise<void> {
  const nextFrame = () => new Promise<void>((resolve) => requestAnimationFrame(() => resolve()));
  await page.evaluate(nextFrame);
  await page.evaluate(nextFrame);
  await page.locator('main .loading').waitFor({ state: 'detached' });
}

async function assertFits(page: Page, what: string): Promise<void> {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${what} is ${wide} pixels too wide`);
}

browserTest('at 200 % of the text alone nothing is cut off or too wide', async (t, browser) => {
  const { page } = await openConsole(t, browser, { viewport: { width: 1280, height: 800 } });
  await page.evaluate(() => {
    document.documentElement.style.fontSize = '200%';
    dispatchEvent(new Event('resize'));
  });
  await go(page, '#/audit');
  await go(page, '#/categories');
  await page.getByRole('grid').waitFor();
  await assertFits(page, 'the list');
  const cut = await page.evaluate(() =>
    [...document.querySelectorAll('.virtual-row')].some(
      ({ scrollHeight, clientHeight }) => scrollHeight > clientHeight + 1,
    ),
  );
  assert.equal(cut, false, 'rows are as high as their text');
});

browserTest('with forced colours the choice and the used part of a budget stay visible', async (t, browser) => {
  const { page } = await openConsole(t, browser, { forcedColors: 'active' });
  const filter = page.getByRole('button', { name: 'Adopted' });
  const look = (selector: string) =>
    page
      .locator(selector)
      .first()
      .evaluate((element) => {
        const { backgroundColor, outlineStyle, color } = getComputedStyle(element);
        return `${backgroundColor} ${color} ${outlineStyle}`;
      });
  const before = await look('.filter[aria-pressed="false"]');
  await filter.click();
  await page.mouse.move(0, 0);
  assert.notEqual(await look('.filter[aria-pressed="true"]'), before);
  await filter.click();
  await page.getByRole('button', { name: 'Enable ORDERS' }).click();
  await page.getByLabel('Reason').fill('contrast');
  assert.notEqual(await look('.choice input:checked + span'), await look('.choice input:not(:checked) + span'));
  await page.keyboard.press('Tab');
  const focused = await page.evaluate(() => getComputedStyle(document.activeElement as Element).outlineStyle);
  assert.notEqual(focused, 'none');
  // The colours are the system's, whatever the page wants in light and dark.
  assert.deepEqual(await accessibilityFindings(page), []);
});

browserTest('with reduced motion nothing moves by itself', async (t, browser) => {
  const { page } = await openConsole(t, browser, { reducedMotion: 'reduce' });
  await page.getByRole('button', { name: 'Enable ORDERS' }).click();
  assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
});

browserTest('a flood of calls and lines is no chatter to readers of the screen', async (t, browser) => {
  const { client, ...service } = await startService(t);
  await client.enable('CACHE', { duration: '10m', reason: 'traffic' });
  const cache = service.rdcp.category('CACHE');
  talk(t, 20, () => cache.debug('hit'));
  const { page } = await openView(t, browser, service.console);
  await page.locator('[data-name=CACHE] .rate', { hasNotText: /^0\/s/ }).waitFor();
  assert.deepEqual(await spoken(page, 5_000), [], 'the list says nothing of its own');
  await go(page, '#/tail?categories=CACHE');
  await page.getByRole('button', { name: 'Start' }).click();
  await until('a flood', async () => (await page.getByRole('log').getAttribute('aria-live')) === 'off');
  const heard = await spoken(page, 35_000);
  assert.ok(heard.length <= 3, heard.join(' | '));
  assert.ok(
    heard.some((text) => /\d lines/.test(text)),
    'from time to time it says how far it is',
  );
});

/** What a reader of the screen is told in a while: each change of a live region, but for what is hidden from it. */
async function spoken(page: Page, milliseconds: number): Promise<string[]> {
  return page.evaluate(async (time) => {
    const heard: string[] = [];
    const live = '[role=status],[role=alert],[role=log],[aria-live]';
    const observer = new MutationObserver((records) => {
      for (const { target } of records) {
        const element = target instanceof Element ? target : target.parentElement;
        const region = element?.closest(live);
        const silent = region?.getAttribute('aria-live') === 'off' || element?.closest('[aria-hidden=true]') != null;
        if (region != null && !silent) heard.push(element?.textContent ?? '');
      }
    });
    observer.observe(document.body, { subtree: true, childList: true, characterData: true });
    await new Promise((resolve) => setTimeout(resolve, time));
    observer.disconnect();
    return heard;
  }, milliseconds);
}
