// What the console weighs, how soon it shows 1,000 categories to an operator who opens it, and how smoothly these and 500
// processes scroll: in the real Chromium, against a real server, beside a bare page with the same rows. Needs chromium.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { generateApiKey, hashApiKey } from '../src/auth/api-key.ts';
import { launchChromium } from '../test/support/chromium.ts';
import { storeWithFleet } from '../test/support/made-up-fleet.ts';
import { built, internals, median, percentile, publish, timing, verdict } from './measurement.ts';

const CATEGORIES = 1000;
const PROCESSES = 500;
const OPENINGS = 7;
/** Pixels a frame, and frames. */
const STEP = 60;
const FRAMES = 240;
const MOST_BYTES = 40 * 1024;

const { createRdcp }: typeof import('../src/index.ts') = await import(built('index.js'));
const { createRdcpClient }: typeof import('../src/client.ts') = await import(built('client.js'));
const { createMemoryStore } = await internals();

/** As services name them: some groups, with many each. */
const names = Array.from({ length: CATEGORIES }, (_, index) => `GROUP${index % 40}_CATEGORY_${index}`).sort();
const described = (name: string) => `What becomes of ${name.toLowerCase().replaceAll('_', ' ')}`;

/** Pages of nothing but rows. */
async function startBare() {
  const table = (rows: readonly (readonly string[])[]) =>
    `<!doctype html><title>bare</title><link rel="icon" href="data:,"><table>${rows
      .map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`)
      .join('')}</table>`;
  const pages: Readonly<Record<string, string>> = {
    '/categories': table(names.map((name) => ['Off', name, described(name), '0/s', 'Enable'])),
    '/processes': table(
      Array.from({ length: PROCESSES }, (_, index) => [`host-${index % 50}`, String(1000 + index), 'bench', '1.0.0']),
    ),
  };
  const server = createServer((req, res) => res.setHeader('Content-Type', 'text/html').end(pages[req.url ?? ''] ?? ''));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

/** Notes when the first row was painted. */
function watchFirstRow(selector: string): void {
  const look = () => {
    if (document.querySelector(selector) === null) requestAnimationFrame(look);
    else
      requestAnimationFrame(() => {
        setTimeout(() => Object.assign(globalThis, { firstRow: performance.now() }));
      });
  };
  requestAnimationFrame(look);
}

async function firstRow(page: Page): Promise<number> {
  await page.waitForFunction(() => 'firstRow' in globalThis);
  return page.evaluate(() => (globalThis as unknown as { firstRow: number }).firstRow);
}

/** Milliseconds from frame to frame while whatever scrolls in the page is scrolled. */
function scroll(page: Page): Promise<number[]> {
  return page.evaluate(
    async ({ step, frames }) => {
      const nextFrame = () => new Promise<number>((resolve) => requestAnimationFrame(resolve));
      const all = [document.scrollingElement, ...document.querySelectorAll('*')].filter((element) => element !== null);
      const area = all.find((element) => {
        const { overflowY } = getComputedStyle(element);
        const scrolls = element === document.scrollingElement || overflowY === 'auto' || overflowY === 'scroll';
        return scrolls && element.scrollHeight > 2 * element.clientHeight;
      });
      if (area === undefined) throw new Error('nothing scrolls');
      const times: number[] = [];
      let last = await nextFrame();
      for (let frame = 0; frame < frames; frame += 1) {
        area.scrollTop += step;
        const now = await nextFrame();
        times.push(now - last);
        last = now;
      }
      if (area.scrollTop < (step * frames) / 2) throw new Error('it did not scroll');
      return times;
    },
    { step: STEP, frames: FRAMES },
  );
}

const key = generateApiKey({ env: 'bench', randomBytes });
const processes = Array.from({ length: PROCESSES - 1 }, (_, index) => ({
  host: `host-${index % 50}`,
  pid: 1000 + index,
  service: 'bench',
  version: '1.0.0',
  startedAt: Date.now(),
}));
const rdcp = createRdcp({
  server: { port: 0 },
  categories: Object.fromEntries(names.map((name) => [name, { description: described(name) }])),
  security: { apiKeys: [{ id: 'bench', hash: hashApiKey(key), clientId: 'bench', scopes: ['admin'] }] },
  limits: { readPerMinute: 1_000_000, controlPerMinute: 1_000_000 },
  store: storeWithFleet(processes, createMemoryStore()),
  announce: false,
});
const { url } = await rdcp.listen();
const client = createRdcpClient({ baseUrl: url, apiKey: key });
const bare = await startBare();
const browser = await launchChromium();

/** Opens a page again and again, in a new profile each time. @param reach goes on to what is scrolled */
async function measure(address: () => Promise<string>, row: string, reach?: (page: Page) => Promise<unknown>) {
  const openings: number[] = [];
  const frames: number[] = [];
  for (let opening = 0; opening < OPENINGS; opening += 1) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const page = await context.newPage();
    await page.addInitScript(watchFirstRow, row);
    await page.goto(await address());
    openings.push(await firstRow(page));
    await reach?.(page);
    if (opening > 0) frames.push(...(await scroll(page)));
    await context.close();
  }
  return { openings: openings.slice(1), frames };
}

const signedIn = async () => `${url}/rdcp/console/#code=${(await client.consoleCode()).code}`;
const toFleet = async (page: Page) => {
  await page.getByRole('link', { name: 'Fleet' }).first().click();
  await page.getByText('host-0', { exact: true }).first().waitFor();
};

const bareCategories = await measure(async () => `${bare.url}/categories`, 'tr');
const categories = await measure(signedIn, '[role=row][data-name]');
const bareProcesses = await measure(async () => `${bare.url}/processes`, 'tr');
const scrolledProcesses = await measure(signedIn, '[role=row][data-name]', toFleet);
await browser.close();
bare.close();
await rdcp.close();

const folder = join(import.meta.dirname, '../dist/console');
const bytes = readdirSync(folder).reduce(
  (sum, file) => sum + gzipSync(readFileSync(join(folder, file)), { level: 9 }).length,
  0,
);
const opened = median(categories.openings);
const openedBare = median(bareCategories.openings);
const late = ({ frames }: { readonly frames: readonly number[] }) => percentile(frames, 0.95);
const ratioOfFrames = (ours: { frames: number[] }, beside: { frames: number[] }) => late(ours) / late(beside);
const scrolled = (ours: { frames: number[] }, beside: { frames: number[] }) =>
  `${ratioOfFrames(ours, beside).toFixed(2)} (${late(ours).toFixed(1)} and ${late(beside).toFixed(1)} ms)`;

publish({
  timings: [
    timing(`opening the console, ${CATEGORIES} categories, until the first are painted`, categories.openings),
    timing('opening the bare page', bareCategories.openings),
    timing('a frame while its categories scroll', categories.frames),
    timing('a frame while the rows of the bare page scroll', bareCategories.frames),
    timing('a frame while its processes scroll', scrolledProcesses.frames),
    timing('a frame while their rows in the bare page scroll', bareProcesses.frames),
  ],
  verdicts: [
    verdict(
      'all files of the console, gzipped',
      'at most 40 KiB',
      `${(bytes / 1024).toFixed(1)} KiB`,
      bytes <= MOST_BYTES,
      bytes,
    ),
    verdict(
      `from the address with a code to the first of ${CATEGORIES} categories, beside a bare page of them`,
      'at most 3 times',
      `${(opened / openedBare).toFixed(2)} (${opened.toFixed(0)} and ${openedBare.toFixed(0)} ms)`,
      opened <= 3 * openedBare,
      opened / openedBare,
    ),
    verdict(
      `scrolling ${CATEGORIES} categories: a frame (p95), beside the bare page`,
      'at most 1.25',
      scrolled(categories, bareCategories),
      ratioOfFrames(categories, bareCategories) <= 1.25,
      ratioOfFrames(categories, bareCategories),
    ),
    verdict(
      `scrolling ${PROCESSES} processes: the same`,
      'at most 1.25',
      scrolled(scrolledProcesses, bareProcesses),
      ratioOfFrames(scrolledProcesses, bareProcesses) <= 1.25,
      ratioOfFrames(scrolledProcesses, bareProcesses),
    ),
  ],
});
