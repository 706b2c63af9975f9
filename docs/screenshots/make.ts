// `npm run screenshots` makes the pictures of the console in this folder, from a shop in an incident, in the real Chromium.
// Each view is in `widths/` too, as wide as a desktop, a laptop, a tablet and a phone, light and dark.
// Time stands still but where it is moved on, so that the same page makes the same picture.

import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { withPalette } from './palette.ts';

/** Of every picture, in bytes. */
const MOST_BYTES = 80_000;
/** States that are shown at every width, and the windows. */
const VIEWS = new Set([
  'categories',
  'category',
  'enable',
  'tail',
  'refused-order',
  'audit',
  'fleet',
  'health',
  'tenants',
]);
const WINDOWS = [
  { width: 1440, height: 900 },
  { width: 1024, height: 768 },
  { width: 768, height: 1024 },
  { width: 390, height: 844 },
];
/** Seconds of calls before a picture is taken, and before one of the list, which shows how many there were lately. */
const SECONDS = 12;
const LONGER = 60;
/** Quarters of a minute that the service measures before the page of a category is opened. */
const QUARTERS = 36;

let now = Date.UTC(2026, 10, 20, 9, 30);
const began = now;
Date.now = () => now;
performance.now = () => now - began + 1000;
os.hostname = () => 'shop-5';
syncBuiltinESMExports();
Object.defineProperty(process, 'pid', { value: 4208 });
process.env.OTEL_RESOURCE_ATTRIBUTES = 'service.name=shop,service.version=2.4.1';

// After what the service reads at its start.
const { beginIncident, openScene, STATES } = await import('../../test/console/scene.ts');
const { launchChromium } = await import('../../test/support/chromium.ts');

const chosen = process.argv.slice(2);
const folder = import.meta.dirname;
if (chosen.length === 0) {
  for (const file of readdirSync(folder)) if (file.endsWith('.png')) rmSync(join(folder, file));
  rmSync(join(folder, 'widths'), { recursive: true, force: true });
}
mkdirSync(join(folder, 'widths'), { recursive: true });
const browser = await launchChromium();
for (const { name, config, quiet, viewport, reach } of STATES) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  now = began;
  const scene = await openScene(
    config,
    () => now,
    (order) => {
      now += 5 + 4 * (order % 7);
    },
  );
  if (!quiet) {
    await beginIncident(scene, () => {
      now += 47_000;
    });
  }
  for (let quarter = 0; quarter < QUARTERS && name === 'category'; quarter += 1) {
    for (let times = 0; times < 10 + (quarter % 7) * 2; times += 1) scene.speak();
    now += 15_000;
    // It measures once a second.
    await sleep(1100);
  }
  const page = await browser.newPage({
    viewport: viewport ?? { width: 1180, height: 720 },
    deviceScaleFactor: 1,
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'UTC',
  });
  await page.clock.setFixedTime(now);
  await page.goto(scene.console);
  // A lost connection is told after a second.
  const ticking = setInterval(() => void page.clock.setFixedTime(name === 'no-connection' ? now + 3000 : now), 1500);
  await reach(page, scene);
  clearInterval(ticking);
  const seconds = name === 'categories' ? LONGER : SECONDS;
  for (let second = 0; second < seconds && !quiet && name !== 'no-connection'; second += 1) {
    scene.speak();
    now = Math.ceil(now / 1000 + 0.001) * 1000;
    await page.clock.setFixedTime(now);
    await sleep(1000);
  }
  await page.evaluate(() => document.fonts.ready);
  // Written at the end: meanwhile the service, which is in this process, would be silent.
  const taken = [await take(page, `${name}.png`)];
  if (VIEWS.has(name)) {
    for (const window of WINDOWS) {
      await page.setViewportSize(window);
      await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        taken.push(await take(page, `widths/${name}-${window.width}-${colorScheme}.png`));
      }
    }
  }
  await page.close();
  await scene.close();
  for (const [file, png] of taken) write(file, png);
}
await browser.close();
process.exit();

async function take(page: Page, name: string): Promise<readonly [name: string, png: Buffer]> {
  return [name, await page.screenshot({ caret: 'hide', animations: 'disabled' })];
}

function write(name: string, png: Buffer): void {
  const file = join(folder, name);
  writeFileSync(file, withPalette(png));
  const { size } = statSync(file);
  console.log(`${name} ${(size / 1000).toFixed(0)} KB`);
  if (size > MOST_BYTES) throw new Error(`${name} is ${size} bytes, at most ${MOST_BYTES}`);
}
