// Measures, so nothing runs beside it: how fast the page draws a flood of lines.

import assert from 'node:assert/strict';
import { until } from '../support/until.ts';
import { browserTest, startService } from './support.ts';
import { lineCount, openView, ROWS, startTail, talk } from './views.ts';

browserTest('a thousand lines a second leave the page quick and its memory bounded', async (t, browser) => {
  const service = await startService(t, { tail: { rate: 5000 } });
  const cache = service.rdcp.category('CACHE');
  const { page } = await openView(t, browser, `${service.console}#/tail?categories=CACHE`);
  await startTail(page);
  talk(t, 20, (count) => {
    for (let each = 0; each < 20; each++) cache.debug(`hit ${count}`, { key: `user:${each}`, size: count % 97 });
  });
  await page.evaluate(() => {
    const gaps: number[] = [];
    let last = performance.now();
    const tick = () => {
      const now = performance.now();
      gaps.push(now - last);
      last = now;
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
    Object.assign(globalThis, { gaps });
  });
  await until('5,000 lines', async () => (await lineCount(page)) > 5000);
  const gaps = await page.evaluate(() =>
    (globalThis as unknown as { gaps: number[] }).gaps.slice(5).sort((a, b) => a - b),
  );
  const [median, worst] = [gaps[gaps.length >> 1] ?? 0, gaps.at(-1) ?? 0];
  t.diagnostic(
    `frames in the flood: median ${median.toFixed(1)} ms, worst ${worst.toFixed(0)} ms, ${gaps.length} frames`,
  );
  assert.ok(median < 100, `a frame takes ${median} ms`);
  assert.ok((await page.locator('.log-lines > *').count()) < 200, 'only what can be seen is drawn');
  assert.match(await page.locator('[role=log]').getAttribute('aria-live').then(String), /off/);

  // The newest line is in sight; scrolling up stops that, and what is looked at stays.
  const last = await page.locator(ROWS).last().innerText();
  await until('it follows', async () => (await page.locator(ROWS).last().innerText()) !== last);
  await page.locator('.log-lines').hover();
  await page.mouse.wheel(0, -300);
  await page.getByRole('button', { name: /Follow/ }).waitFor();
  const seen = () =>
    page.evaluate(() => {
      const list = document.querySelector('.log-lines')!.getBoundingClientRect();
      return document.elementFromPoint(list.left + 300, list.top + 60)?.closest('[role=option]')?.id;
    });
  const before = await seen();
  const count = await lineCount(page);
  await until('1,000 more lines', async () => (await lineCount(page)) > count + 1000);
  assert.equal(await seen(), before);

  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('button', { name: /Resume \([\d,]{3,} waiting\)/ }).waitFor();
  await page.getByRole('button', { name: /Resume/ }).click();
  await page.getByRole('button', { name: 'Pause' }).waitFor();

  await page.getByLabel('Filter lines').fill('USER:1 -size=1');
  await page.getByText(/rows of/).waitFor();
  await until('marks', async () => (await page.locator(`${ROWS} mark`).count()) > 3);
  for (const text of await page.locator(`${ROWS} .message`).allInnerTexts()) assert.match(text, /user:1\d? size=(?!1)/);

  await page.getByLabel('Filter lines').fill('');
  await until('20,000 lines', async () => (await lineCount(page)) > 21_000, 240_000);
  await page.getByText(/the newest [12][\d,]+ are kept/).waitFor();
});
