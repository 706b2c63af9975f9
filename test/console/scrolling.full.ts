import assert from 'node:assert/strict';
import { browserTest } from './support.ts';
import { openConsole } from './views.ts';

browserTest('a row that scrolls into view is the only one whose style is computed', async (t, browser) => {
  const names = Array.from({ length: 300 }, (_, index) => `CATEGORY_${index}`);
  const { page } = await openConsole(t, browser, {
    config: { categories: Object.fromEntries(names.map((name) => [name, {}])) },
    viewport: { width: 1280, height: 800 },
  });
  await browser.startTracing(page, { categories: ['devtools.timeline'] });
  await page.evaluate(async () => {
    for (let frame = 0; frame < 60; frame += 1) {
      scrollBy(0, 60);
      await new Promise(requestAnimationFrame);
    }
  });
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    traceEvents: readonly { name: string; args?: { elementCount?: number } }[];
  };
  const styled = traceEvents.flatMap(({ name, args }) =>
    name === 'UpdateLayoutTree' ? (args?.elementCount ?? []) : [],
  );
  const rows = await page.locator('[role=row]').count();
  assert.ok(rows > 5 && rows < 80, `${rows} rows`);
  const drawn = await page.locator('.virtual-list *').count();
  styled.sort((a, b) => a - b);
  const usual = styled[styled.length >> 1] ?? Number.NaN;
  assert.ok(usual > 0 && usual < drawn / 3, `${usual} of ${drawn} elements`);
  await page.locator('[role=grid] a[tabindex="0"]').focus();
  await page.keyboard.press('Home');
  await page.waitForFunction(() => scrollY < 500);
  assert.match(await page.evaluate(() => document.activeElement?.textContent ?? ''), /^CATEGORY/);
});
