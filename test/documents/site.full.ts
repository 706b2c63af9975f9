// Every night: builds the documentation site; its workflow does so for each change of main.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { assertAccessible } from '../console/support.ts';
import { ROOT } from '../support/built.ts';
import { launchChromium } from '../support/chromium.ts';

const SITE = join(ROOT, 'docs/site/built');
const ADDRESS = 'http://site.test';

/** The file of an address below the site's root. */
function fileOf(path: string): string {
  const file = join(SITE, decodeURIComponent(path));
  return existsSync(file) && statSync(file).isDirectory() ? join(file, 'index.html') : file;
}

describe('npm run docs', () => {
  let pages: readonly string[] = [];
  let browser: Browser;
  before(async () => {
    const { stdout, stderr } = await promisify(execFile)('npm', ['run', 'docs'], { cwd: ROOT, timeout: 540_000 });
    assert.doesNotMatch(stdout + stderr, /warning|\(!\)|falling back/i);
    pages = globSync('**/*.html', { cwd: SITE });
    browser = await launchChromium();
  });
  after(() => browser?.close());

  /** A page of the site, from its files. */
  async function open(t: TestContext, path: string): Promise<Page> {
    const context = await browser.newContext({ reducedMotion: 'reduce' });
    t.after(() => context.close());
    const page = await context.newPage();
    const errors: unknown[] = [];
    page.on('pageerror', (error) => errors.push(error));
    t.after(async () => assert.deepEqual(errors, [], path));
    await page.route('**/*', (route) => {
      const url = new URL(route.request().url());
      assert.equal(url.origin, ADDRESS, 'the site loads nothing of others');
      return route.fulfill({ path: fileOf(url.pathname) });
    });
    await page.goto(`${ADDRESS}${path}`, { waitUntil: 'networkidle' });
    return page;
  }

  async function search(t: TestContext, query: string): Promise<Page> {
    const page = await open(t, '/');
    await page.locator('.VPNavBarSearch button').click();
    await page.locator('.search-input').fill(query);
    await page.locator('.results .result').first().waitFor();
    return page;
  }

  it('makes a page of every document and every public symbol', () => {
    for (const path of globSync('{*,docs/*,docs/decisions/*}.md', { cwd: ROOT })) {
      assert.ok(pages.includes(path.replace(/md$/, 'html')), path);
    }
    for (const page of ['index/interfaces/RdcpConfig', 'api/functions/category', 'index']) {
      assert.ok(pages.includes(`reference/${page}.html`), page);
    }
  });

  it('lists every document for operators and services in its sidebar, under the audience that the README names', async (t) => {
    const page = await open(t, '/docs/operators.html');
    const groups = await page.locator('.VPSidebar .group > .level-0 > .item h2').allTextContents();
    assert.deepEqual(groups, [
      'For operators',
      'For owners of a service',
      'For platform teams',
      'For authors',
      'Decisions',
    ]);
    const links = await page.locator('.VPSidebar a').evaluateAll((all) => all.map((link) => link.getAttribute('href')));
    // The table of the README leads to performance from a section of its own.
    for (const path of globSync('docs/*.md', { cwd: ROOT })) {
      if (path !== 'docs/performance.md') assert.ok(links.includes(`/${path.replace(/md$/, 'html')}`), path);
    }
  });

  it('begins with a picture and what it is for', async (t) => {
    const page = await open(t, '/');
    assert.match((await page.locator('main h1').textContent()) ?? '', /See one customer's debug logs in production/);
    assert.equal(await page.locator('.front p:not(:has(img))').count(), 3);
    const picture = page.locator('.front img');
    assert.ok(await picture.evaluate((image) => (image as HTMLImageElement).naturalWidth > 0));
    assert.match((await picture.getAttribute('alt')) ?? '', /^The console: /);
  });

  it('has links to pages that exist, to places in them, and to pictures', () => {
    const anchors = new Map<string, ReadonlySet<string>>();
    const anchorsOf = (page: string) => {
      const found = anchors.get(page) ?? new Set(readFileSync(page, 'utf8').match(/(?<= (?:id|name)=")[^"]+/g));
      anchors.set(page, found);
      return found;
    };
    for (const page of pages) {
      const html = readFileSync(join(SITE, page), 'utf8');
      for (const [, target = ''] of html.matchAll(/(?:href|src)="((?![a-z]+:)[^"]+)/g)) {
        const [file = '', anchor = ''] = target.replaceAll('&amp;', '&').split('#');
        const path = fileOf(file === '' ? page : file.startsWith('/') ? file : join(dirname(page), file));
        assert.ok(existsSync(path), `${page}: ${target}`);
        if (anchor !== '' && path.endsWith('.html'))
          assert.ok(anchorsOf(path).has(decodeURIComponent(anchor)), `${page}: ${target}`);
      }
    }
  });

  it('makes links of what is a link, and not of the names of files', () => {
    const targets = pages.flatMap(
      (page) => readFileSync(join(SITE, page), 'utf8').match(/(?<=href=")http:[^"]+/g) ?? [],
    );
    assert.deepEqual(targets, []);
  });

  for (const [query, first] of [
    ['behind a proxy', '/docs/behind-a-proxy.html#behind-a-proxy-or-load-balancer'],
    ['rdcp enable', '/docs/command-line.html#rdcp-enable'],
    ['forecast', '/docs/tail.html#forecast-tail-and-events'],
    ['tenants', '/docs/tenants.html#tenants'],
    ['RdcpConfig', '/reference/index/interfaces/RdcpConfig.html#interface-rdcpconfig'],
    // In other words than ours.
    ['turn off', '/docs/command-line.html#rdcp-end'],
    ['how to install', '/README.html#start'],
    ['budget exceeded', '/docs/debug-lines.html#budgets'],
    ['401', '/docs/endpoint.html#errors'],
    ['overhead', '/docs/performance.html#performance'],
    ['overhead of checkouts', '/docs/performance.html#performance'],
  ] as const) {
    it(`finds "${query}" at ${first}`, async (t) => {
      const page = await search(t, query);
      assert.equal(await page.locator('.results .result').first().getAttribute('href'), first);
      await page.keyboard.press('Enter');
      await page.waitForURL(`${ADDRESS}${first}`);
    });
  }

  for (const path of ['/', '/README.html', '/docs/command-line.html', '/reference/index/interfaces/RdcpConfig.html']) {
    it(`axe finds nothing wrong with ${path}, in light and dark`, async (t) => {
      await assertAccessible(await open(t, path), path);
    });
  }
});
