import assert from 'node:assert/strict';
import { after, type TestContext, type TestOptions, test } from 'node:test';
import axe, { type AxeResults } from 'axe-core';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { hashApiKey } from '../../src/access/api-key.ts';
import { createRdcp, type Rdcp } from '../../src/assembly/rdcp.ts';
import type { ApiKeyRecord, RdcpConfig } from '../../src/options/options.ts';
import { createRdcpClient, type RdcpClient } from '../../src/tools/client/client.ts';
import type { Scope } from '../../src/wire/constants.ts';
import { withProgram } from '../examples/required-program.ts';
import { assertBuilt } from '../support/built.ts';
import { launchChromium } from '../support/chromium.ts';

/** The browser of this test file. */
let launched: Promise<Browser> | undefined;

after(async () => (await launched)?.close());

interface End {
  readonly context: BrowserContext;
  readonly complaints: readonly string[];
}

/** What the pages of a test end with. */
const endsOf = new WeakMap<TestContext, End[]>();

/** A test with a real browser. Skipped aloud without one. */
export function browserTest(
  name: string,
  run: (t: TestContext, browser: Browser) => Promise<void>,
  options: TestOptions = {},
) {
  test(name, options, (t) =>
    withProgram(t, 'chromium', async () => {
      assertBuilt();
      const ends: End[] = [];
      endsOf.set(t, ends);
      try {
        launched ??= launchChromium();
        await run(t, await launched);
        for (const page of ends.flatMap(({ context }) => context.pages())) {
          // With forced colours light and dark are the system's, not the page's.
          const isOurs = () => document.getElementById('console') && !matchMedia('(forced-colors: active)').matches;
          if (await page.evaluate(isOurs)) await assertAccessible(page, `${page.url()} at the end`);
        }
      } finally {
        // Before the services of the test: a browser complains of one that leaves.
        for (const { context } of ends) await context.close();
      }
      for (const { complaints } of ends) assert.deepEqual(complaints, [], 'the browser has nothing to complain of');
    }),
  );
}

/** A page of the console that a test looks at. */
export interface ConsolePage {
  readonly page: Page;
  readonly context: BrowserContext;
}

export interface PageOptions extends BrowserContextOptions {
  /** Complaints that the test provokes. Any other one fails it. @default none */
  readonly provoked?: readonly RegExp[];
}

/**
 * Opens a page in a profile of its own. When the test ends, every error on the browser's console, exception and violation of
 * the content security policy fails it. An answer such as 401, which browsers put on the console too, is none.
 */
export async function openPage(
  t: TestContext,
  browser: Browser,
  url: string,
  { provoked = [], ...options }: PageOptions = {},
): Promise<ConsolePage> {
  const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'Europe/Berlin', ...options });
  const complaints: string[] = [];
  const complain = (text: string) => {
    if (!provoked.some((pattern) => pattern.test(text))) complaints.push(text);
  };
  context.on('weberror', (raised) => complain(`exception: ${raised.error().stack ?? raised.error().message}`));
  context.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return;
    if (REFUSED.test(message.text())) return;
    complain(`${message.type()}: ${message.text()} (${message.location().url})`);
  });
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) => {
      console.error(`Content-Security-Policy: ${violatedDirective} ${blockedURI} ${sample}`);
    });
  });
  endsOf.get(t)?.push({ context, complaints });
  // On a machine that is busy with others a page may be slow; nothing here is about how slow.
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  await page.goto(url);
  return { page, context };
}

/** How Chromium words a refusal that a page handles. A missing file is none. */
const REFUSED = /^Failed to load resource: the server responded with a status of (?:40[0139]|429|50[034])\b/;

/** One line for each thing that axe finds wrong with the page as it is. */
export async function accessibilityFindings(page: Page): Promise<string[]> {
  // Evaluated by the debugger, so that the page's own policy stays in force.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source);
  const { violations } = await page.evaluate(async () => {
    return (globalThis as unknown as { axe: { run(): Promise<AxeResults> } }).axe.run();
  });
  return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' ')}`);
}

/** The findings of axe in light and in dark. */
export async function assertAccessible(page: Page, state: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    // Without the transition from one colour to the other.
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    assert.deepEqual(await accessibilityFindings(page), [], `${state}, ${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: null, reducedMotion: null });
}

/** Keys that the service of {@link startService} knows. */
export const KEYS = {
  admin: 'admin-key-'.padEnd(40, 'a'),
  operator: 'operator-key-'.padEnd(40, 'o'),
  reader: 'reader-key-'.padEnd(40, 'r'),
  switcher: 'switcher-key-'.padEnd(40, 's'),
} as const;

const SCOPES_OF: Readonly<Record<keyof typeof KEYS, readonly Scope[]>> = {
  admin: ['admin'],
  operator: ['discovery', 'status', 'control'],
  reader: ['discovery', 'status'],
  switcher: ['control'],
};

export const KEY_RECORDS: readonly ApiKeyRecord[] = Object.entries(KEYS).map(([id, key]) => ({
  id,
  hash: hashApiKey(key),
  clientId: id,
  scopes: SCOPES_OF[id as keyof typeof KEYS],
}));

/** A service with the console, and what a test calls in it. */
export interface ConsoleService {
  readonly rdcp: Rdcp;
  /** May do everything. */
  readonly client: RdcpClient;
  /** Origin of the endpoint. */
  readonly url: string;
  /** Address of the console. */
  readonly console: string;
}

/** A whole remote control on a port of its own. It has the categories ORDERS, CACHE and DATABASE unless told otherwise. */
export async function startService(t: TestContext, config: RdcpConfig = {}): Promise<ConsoleService> {
  const rdcp = createRdcp({
    categories: {
      ORDERS: { description: 'What becomes of orders' },
      CACHE: { description: 'Hits and misses' },
      DATABASE: { description: 'SQL statements and their durations' },
    },
    announce: false,
    emit: { to: () => undefined },
    ...config,
    server: { port: 0, ...config.server },
    security: { apiKeys: KEY_RECORDS, ...config.security },
  });
  t.after(() => rdcp.close());
  const { url } = await rdcp.listen();
  const client = createRdcpClient({ baseUrl: url, apiKey: KEYS.admin });
  return { rdcp, client, url, console: `${url}/rdcp/console/` };
}
