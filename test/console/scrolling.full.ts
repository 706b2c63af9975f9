import assert from 'node:assert/strict';
import { signIn } from './drive.ts';
import { browserTest, KEYS, openPage, startService } from './support.ts';

browserTest('a row that scrolls into view is the only one whose style is computed', async (t, browser) => {
  const names = Array.from({ length: 300 }, (_, index) => `CATEGORY_${index}`);
  const service = await startService(t, { categories: Object.fromEntries(names.map((name) => [name, {}])) });
  const { page } = await openPage(t, browser, service.console, { viewport: { width: 1280, height: 800 } });
  await signIn(page, KEYS.admin);
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
  const drawn = await page.locator('.virtual-list *').count();
  styled.sort((a, b) => a - b);
  const usual = styled[styled.length >> 1] ?? Number.NaN;
  assert.ok(usual > 0 && usual < drawn / 3, `${usual} of ${drawn} elements`);
});
