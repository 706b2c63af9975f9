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
import { generateApiKey, hashApiKey } from '../src/access/api-key.ts';
import { launchChromium } from '../test/support/chromium.ts';
import { storeWithFleet } from '../test/support/made-up-fleet.ts';
import { built, internals, median, percentile, publish, timing, verdict } from './measurement.ts';

const CATEGORIES = 1000;
const PROCESSES = 500;
/** In each of the processes of a run. */
const OPENINGS = 2;
/** Pixels a frame, and frames. */
const STEP = 60;
const FRAMES = 60;
const WARM_UP_FRAMES = 2;
/** Of 60 frames a second. */
const HALF_FRAME_MS = 8;
const MOST_BYTES = 100 * 1024;

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
function scroll(page: Page, frames: number): Promise<number[]> {
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
    { step: STEP, frames },
  );
}

const key = generateApiKey({ env: 'bench', randomBytes });
const members = Array.from({ length: PROCESSES - 1 }, (_, index) => ({
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
  store: storeWithFleet(members, createMemoryStore()),
  announce: false,
});
const { url } = await rdcp.listen();
const client = createRdcpClient({ baseUrl: url, apiKey: key });
const bare = await startBare();
const browser = await launchChromium();

interface Scrolled {
  /** Milliseconds from frame to frame. */
  readonly frames: readonly number[];
  /** Milliseconds of a processor that the page's thread took for each. */
  readonly work: number;
}

interface Opening extends Scrolled {
  /** Milliseconds until the first row was painted. */
  readonly opened: number;
}

/** Scrolls, and measures the work of it: unlike the frames it hardly depends on what else the machine does. */
async function scrollAtWork(page: Page, count: number): Promise<Scrolled> {
  const debuggee = await page.context().newCDPSession(page);
  await debuggee.send('Performance.enable', { timeDomain: 'threadTicks' });
  const busy = async () => {
    const { metrics } = await debuggee.send('Performance.getMetrics');
    return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN);
  };
  const before = await busy();
  const frames = await scroll(page, count);
  return { frames, work: ((await busy()) - before) / count };
}

/** Opens a page in a new profile, scrolls it, and goes on in it. */
async function open<T>(
  address: string,
  row: string,
  frames: number,
  next: (page: Page) => Promise<T>,
): Promise<Opening & { next: T }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.addInitScript(watchFirstRow, row);
  await page.goto(address);
  const opened = await firstRow(page);
  const result = { opened, ...(await scrollAtWork(page, frames)), next: await next(page) };
  await context.close();
  return result;
}

async function scrollFleet(page: Page, frames: number): Promise<Scrolled> {
  await page.getByRole('link', { name: 'Fleet' }).first().click();
  await page.getByText('host-0', { exact: true }).first().waitFor();
  return scrollAtWork(page, frames);
}

const nothing = async () => undefined;
/** The console and the bare pages in turn, so that what else the machine does slows both. */
async function openAll(frames = FRAMES) {
  const bareCategories = await open(`${bare.url}/categories`, 'tr', frames, nothing);
  const address = `${url}/rdcp/console/#code=${(await client.consoleCode()).code}`;
  const ours = await open(address, '[role=row][data-name]', frames, (page) => scrollFleet(page, frames));
  const bareProcesses = await open(`${bare.url}/processes`, 'tr', frames, nothing);
  return { bareCategories, ours, bareProcesses };
}

// What browser and server compile and cache at first is no part of it.
await openAll(WARM_UP_FRAMES);
const rounds: Awaited<ReturnType<typeof openAll>>[] = [];
for (let opening = 0; opening < OPENINGS; opening += 1) rounds.push(await openAll());
const scrolledIn = (part: (round: (typeof rounds)[number]) => Scrolled) => ({
  frames: rounds.flatMap((round) => part(round).frames),
  work: median(rounds.map((round) => part(round).work)),
});
const bareCategories = scrolledIn((round) => round.bareCategories);
const categories = scrolledIn((round) => round.ours);
const bareProcesses = scrolledIn((round) => round.bareProcesses);
const processesOfFleet = scrolledIn((round) => round.ours.next);
const openings = rounds.map(({ ours }) => ours.opened);
const bareOpenings = rounds.map((round) => round.bareCategories.opened);
await browser.close();
bare.close();
await rdcp.close();

const folder = join(import.meta.dirname, '../dist/console');
const bytes = readdirSync(folder).reduce(
  (sum, file) => sum + gzipSync(readFileSync(join(folder, file)), { level: 9 }).length,
  0,
);
const opened = median(openings);
const openedBare = median(bareOpenings);
const late = ({ frames }: { readonly frames: readonly number[] }) => percentile(frames, 0.95);
const ratioOfFrames = (ours: { frames: number[] }, beside: { frames: number[] }) => late(ours) / late(beside);
const scrolled = (ours: { frames: number[] }, beside: { frames: number[] }) =>
  `${ratioOfFrames(ours, beside).toFixed(2)} (${late(ours).toFixed(1)} and ${late(beside).toFixed(1)} ms)`;

publish({
  timings: [
    timing(`opening the console, ${CATEGORIES} categories, until the first are painted`, openings),
    timing('opening the bare page', bareOpenings),
    timing('a frame while its categories scroll', categories.frames),
    timing('a frame while the rows of the bare page scroll', bareCategories.frames),
    timing('a frame while its processes scroll', processesOfFleet.frames),
    timing('a frame while their rows in the bare page scroll', bareProcesses.frames),
  ],
  verdicts: [
    verdict(
      'all files of the console, gzipped',
      'at most 100 KiB',
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
      `scrolling ${CATEGORIES} categories: work of the page's thread a frame`,
      'at most 8 ms, half of a frame',
      `${categories.work.toFixed(1)} ms (a bare page: ${bareCategories.work.toFixed(1)} ms)`,
      categories.work <= HALF_FRAME_MS,
      categories.work,
    ),
    verdict(
      `scrolling ${PROCESSES} processes: work of the page's thread a frame`,
      'at most 8 ms, half of a frame',
      `${processesOfFleet.work.toFixed(1)} ms (a bare page: ${bareProcesses.work.toFixed(1)} ms)`,
      processesOfFleet.work <= HALF_FRAME_MS,
      processesOfFleet.work,
    ),
    verdict(
      `scrolling ${PROCESSES} processes: the same`,
      'at most 1.25',
      scrolled(processesOfFleet, bareProcesses),
      ratioOfFrames(processesOfFleet, bareProcesses) <= 1.25,
      ratioOfFrames(processesOfFleet, bareProcesses),
    ),
  ],
});
