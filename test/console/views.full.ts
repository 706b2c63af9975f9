import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { createRdcpClient } from '../../src/client.ts';
import type { RdcpConfig } from '../../src/options.ts';
import type { TailLine } from '../../src/protocol/streams.ts';
import {
  assertAccessible,
  browserTest,
  type ConsoleService,
  KEY_RECORDS,
  KEYS,
  openPage,
  type PageOptions,
  startService,
} from './support.ts';

const ROWS = '.log-lines [role=option]:not(.note)';
const NOTES = '.log-lines .note';

async function signIn(t: TestContext, browser: Browser, address: string, options: PageOptions & { key?: string } = {}) {
  const { key = KEYS.admin, ...rest } = options;
  const opened = await openPage(t, browser, address, rest);
  opened.page.setDefaultTimeout(10_000);
  await opened.page.locator('#credential').fill(key);
  await opened.page.keyboard.press('Enter');
  await opened.page.locator('main#view').waitFor();
  return opened;
}

/** Goes to a view without a new page: the credential is in memory. */
async function show(page: Page, hash: string): Promise<void> {
  await page.evaluate((to) => {
    location.hash = to;
  }, hash);
}

/** Debugs until the test ends. */
function talk(t: TestContext, every: number, run: (count: number) => void): void {
  let count = 0;
  const timer = setInterval(() => run(count++), every);
  t.after(() => clearInterval(timer));
}

async function until(what: string, holds: () => Promise<boolean>, milliseconds = 20_000): Promise<void> {
  for (const end = Date.now() + milliseconds; !(await holds()); await sleep(50)) {
    assert.ok(Date.now() < end, what);
  }
}

const lineCount = async (page: Page) =>
  Number((await page.locator('.status').innerText()).match(/([\d,]+) lines?/)?.[1]?.replaceAll(',', '') ?? 0);

async function startFleet(t: TestContext, size: number) {
  const folder = mkdtempSync(join(tmpdir(), 'rdcp-console-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const config: RdcpConfig = {
    server: { port: 0 },
    store: `sqlite:${join(folder, 'state.db')}`,
    tenancy: { isolation: 'organization', tenants: { acme: { name: 'Acme Ltd' }, beta: {} } },
    announce: false,
    emit: { to: 'stderr' },
    security: { apiKeys: KEY_RECORDS },
  };
  return Promise.all(
    Array.from({ length: size }, async () => {
      const child: ChildProcess = fork(join(import.meta.dirname, 'member.ts'), [JSON.stringify(config)], {
        execArgv: ['--no-warnings'],
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      });
      t.after(() => child.kill('SIGKILL'));
      const [{ url }] = (await once(child, 'message')) as [{ url: string }];
      const enabled = async () => {
        child.send('');
        const [answer] = (await once(child, 'message')) as [{ enabled: boolean }];
        return answer.enabled;
      };
      return { url, child, console: `${url}/rdcp/console/`, enabled };
    }),
  );
}

browserTest('a tail shows the lines of every process of a fleet, and who has left', async (t, browser) => {
  const [serving, second, third] = await startFleet(t, 3);
  const client = createRdcpClient({ baseUrl: serving!.url, apiKey: KEYS.admin });
  await until('three processes', async () => (await client.fleet()).instances.length === 3);
  const { page } = await signIn(t, browser, `${serving!.console}#/tail?categories=DATABASE`);
  await page.getByRole('button', { name: 'Start' }).click();
  await page.getByText('3 of 3 processes').waitFor();
  const labels = async () => new Set(await page.locator(`${ROWS} .process`).allInnerTexts());
  await until('lines of three processes', async () => (await labels()).size === 3);
  for (const { child } of [serving!, second!, third!]) {
    assert.ok([...(await labels())].some((label) => label.endsWith(`:${child.pid}`)));
  }
  third!.child.kill('SIGKILL');
  // Among so many lines a note is soon out of sight.
  await page.getByRole('searchbox').fill('no line has this');
  await page
    .locator(`${NOTES}.warning`)
    .filter({ hasText: `:${third!.child.pid} left` })
    .waitFor();
  await page.getByText('2 of 3 processes').waitFor();
  await assertAccessible(page, 'a tail that runs');
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('The tail has ended: stopped').waitFor();
  await until('no process is tapped', async () => !(await second!.enabled()) && !(await serving!.enabled()), 6000);

  await show(page, '#/fleet');
  await until(
    'the fleet has two processes',
    async () => (await page.locator('.fleet-row:not(.line-head)').count()) === 2,
  );
  await page.getByRole('searchbox').fill(String(second!.child.pid));
  assert.equal(await page.locator('.fleet-row:not(.line-head)').count(), 1);
  await assertAccessible(page, 'the fleet');

  await show(page, '#/tenants');
  await page.locator('#view').getByText('Acme Ltd').waitFor();
  await assertAccessible(page, 'tenants');
  await page.getByRole('button', { name: 'Choose Acme Ltd' }).click();
  await show(page, '#/tail?categories=DATABASE');
  await page.getByRole('button', { name: 'Start' }).click();
  await until('lines', async () => (await page.locator(ROWS).count()) > 5);
  for (const text of await page.locator(`${ROWS} .message`).allInnerTexts()) assert.match(text, /^acme acme's query/);
});

browserTest(
  'a flood of a thousand lines a second leaves the page quick, and its memory bounded',
  async (t, browser) => {
    const service = await startService(t, { tail: { rate: 5000 } });
    const cache = service.rdcp.category('CACHE');
    const { page } = await signIn(t, browser, `${service.console}#/tail?categories=CACHE`);
    await page.getByRole('button', { name: 'Start' }).click();
    await page.locator('#view').getByText('Live', { exact: true }).waitFor();
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
    await until('5,000 lines', async () => (await lineCount(page)) > 5000, 30_000);
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
    await sleep(1000);
    assert.equal(await seen(), before);

    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: /Resume \([\d,]{3,} waiting\)/ }).waitFor();
    await page.getByRole('button', { name: /Resume/ }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();

    await page.getByRole('searchbox').fill('USER:1 -size=1');
    await page.getByText(/rows of/).waitFor();
    await until('marks', async () => (await page.locator(`${ROWS} mark`).count()) > 3);
    for (const text of await page.locator(`${ROWS} .message`).allInnerTexts())
      assert.match(text, /user:1\d? size=(?!1)/);

    await page.getByRole('searchbox').fill('');
    await until('20,000 lines', async () => (await lineCount(page)) > 21_000, 60_000);
    await page.getByText(/the newest [12][\d,]+ are kept/).waitFor();
  },
);

browserTest('whatever stands in a line is text, and does no harm', async (t, browser) => {
  const service = await startService(t, {
    tenancy: { isolation: 'organization' },
    console: { traceUrl: 'https://traces.example.com/{traceId}' },
  });
  const cache = service.rdcp.category('CACHE');
  const evil = '<img src=x onerror="alert(1)"><b>bold</b> \u202egnp.exe\u2066 \u0007\u001b[31m \ud800';
  talk(t, 100, (count) => {
    if (count % 2 === 0) cache.debug(evil, { [evil]: evil, __proto__x: 'x', constructor: 'y' });
    else cache.debug(`long ${'y'.repeat(20_000)}`);
  });
  const { page } = await signIn(t, browser, `${service.console}#/tail?categories=CACHE`);
  page.on('dialog', () => assert.fail('nothing runs'));
  await page.getByRole('button', { name: 'Start' }).click();
  await until('lines', async () => (await page.locator(ROWS).count()) > 4);
  const row = page.locator(ROWS).filter({ hasText: 'onerror' }).first();
  await row.click();
  const details = page.getByRole('complementary');
  await details.waitFor();
  assert.equal(await page.locator('main img, main b').count(), 0);
  assert.match(await row.innerText(), /<b>bold<\/b> \\u202egnp\.exe\\u2066 \\u0007\\u001b\[31m/);
  assert.match(await details.innerText(), /\\u202egnp\.exe/);
  assert.equal(await row.locator('.message > bdi').count(), 1);
  await assertAccessible(page, 'the details of a line');

  await details.getByRole('button', { name: 'Copy JSON' }).click();
  await details.getByText('Copied').waitFor();
  await page.getByRole('searchbox').focus();
  await page.keyboard.press('Control+V');
  const copied = JSON.parse(await page.getByRole('searchbox').inputValue()) as TailLine;
  await page.getByRole('searchbox').fill('');
  assert.equal(copied.category, 'CACHE');

  await page.locator(ROWS).filter({ hasText: 'long yyy' }).first().click();
  assert.ok((await details.innerText()).length < 3000, 'a long text begins folded');
  await details
    .getByRole('button', { name: /characters/ })
    .first()
    .click();
  await until('the whole text', async () => (await details.innerText()).length > 8000);

  await page.getByRole('button', { name: 'Pause' }).click();
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download' }).click(),
  ]);
  assert.match(file.suggestedFilename(), /^tail-CACHE-\d{4}-\d\d-\d\dT.*Z\.ndjson$/);
  const lines = readFileSync(await file.path(), 'utf8')
    .trimEnd()
    .split('\n');
  for (const line of lines) assert.equal((JSON.parse(line) as TailLine).category, 'CACHE');
  assert.ok(lines.length > 4);
});

browserTest('by keyboard alone: choose, start, read a line, stop', async (t, browser) => {
  const service = await startService(t);
  const database = service.rdcp.category('DATABASE');
  talk(t, 100, (count) => database.debug(`query ${count}`, { rows: count }));
  const { page } = await signIn(t, browser, `${service.console}#/tail`);
  const keys = async (...names: string[]) => {
    for (const name of names) await page.keyboard.press(name);
  };
  await page.getByRole('combobox', { name: 'Categories' }).focus();
  await page.keyboard.type('data');
  await keys('Enter');
  await page.getByRole('button', { name: 'Remove DATABASE' }).waitFor();
  assert.match(page.url(), /categories=DATABASE/);
  for (let tabs = 0; tabs < 8; tabs++) {
    await keys('Tab');
    if ((await page.evaluate(() => document.activeElement?.textContent)) === 'Start') break;
  }
  await keys('Enter');
  await until('lines', async () => (await page.locator(ROWS).count()) > 6);
  await page.getByRole('listbox', { name: /newest last/ }).focus();
  await keys('ArrowUp', 'ArrowUp');
  const details = page.getByRole('complementary');
  await details.waitFor();
  const chosen = await details.locator('.message').innerText();
  await keys('ArrowUp');
  const number = (text: string) => Number(/\d+/.exec(text)?.[0]);
  assert.equal(number(await details.locator('.message').innerText()), number(chosen) - 1);
  await page.getByRole('button', { name: /Follow/ }).waitFor();
  await keys('Escape');
  await details.waitFor({ state: 'detached' });
  await keys('End');
  await page.getByRole('button', { name: /Follow/ }).waitFor({ state: 'detached' });
});

async function tailEntries(service: ConsoleService) {
  const client = createRdcpClient({ baseUrl: service.url, apiKey: KEYS.admin });
  const { entries } = await client.audit({ action: 'tail' });
  return entries.map(({ otelrdcp_tail: tail }) => (tail?.state === 'end' ? tail.reason : tail?.state));
}

browserTest('leaving the view ends the tail on the server, and so does closing the page', async (t, browser) => {
  const service = await startService(t);
  const { page } = await signIn(t, browser, `${service.console}#/tail?categories=ORDERS`);
  const start = async () => {
    await page.getByRole('button', { name: 'Start' }).click();
    await page.locator('#view').getByText('Live', { exact: true }).waitFor();
  };
  await start();
  await show(page, '#/health');
  await until('the tail has ended', async () => (await tailEntries(service))[0] === 'closed', 5000);
  await show(page, '#/tail?categories=ORDERS');
  await start();
  await page.close();
  await until('it has ended', async () => (await tailEntries(service)).join() === 'closed,begin,closed,begin', 5000);
});

browserTest('a third tail of an identity is refused, and says when to try again', async (t, browser) => {
  const service = await startService(t);
  const client = createRdcpClient({ baseUrl: service.url, apiKey: KEYS.admin });
  const controller = new AbortController();
  t.after(() => controller.abort());
  for (let each = 0; each < 2; each++) await client.tail('ORDERS', { signal: controller.signal }).next();
  const { page } = await signIn(t, browser, `${service.console}#/tail?categories=ORDERS`);
  await page.getByRole('button', { name: 'Start' }).click();
  const notice = page.getByRole('alert');
  await notice.getByText(/2 tails of this client are open already/).waitFor();
  await notice.getByText(/\d+ s/).waitFor();
  await assertAccessible(page, 'a tail that is refused');
  controller.abort();
  await until('places', async () => (await tailEntries(service)).filter((state) => state === 'closed').length === 2);
  await page.getByRole('button', { name: 'Start' }).click();
  await page.locator('#view').getByText('Live', { exact: true }).waitFor();
  await notice.waitFor({ state: 'detached' });
});

browserTest(
  'the audit trail pages to its beginning, filters, shows an entry, and checks the chain',
  async (t, browser) => {
    const service = await startService(t, { limits: { controlPerMinute: 10_000 } });
    const client = createRdcpClient({ baseUrl: service.url, apiKey: KEYS.admin });
    for (let each = 0; each < 450; each++) {
      const name = each % 50 === 0 ? 'CACHE' : 'ORDERS';
      await client.enable(name, {
        duration: '10m',
        reason: each === 3 ? 'the <b>third</b> \u202eone' : `change ${each}`,
      });
    }
    const { page } = await signIn(t, browser, `${service.console}#/audit`);
    const rows = page.locator('.audit-row:not(.line-head)');
    await page.getByText('change 449').waitFor();
    assert.match(await rows.first().innerText(), /change 449/);
    await until('the oldest entry', async () => {
      await page.mouse.wheel(0, 20_000);
      return page.getByText('back to the oldest one').isVisible();
    });
    await page.getByText('change 0', { exact: true }).waitFor();
    assert.ok((await rows.count()) < 80, 'only what can be seen is drawn');
    await page.getByText('Chain intact').waitFor();
    await page.getByText(/450 entries checked/).waitFor();
    assert.equal(await page.locator('main b').count(), 0);
    await page.getByText('the <b>third</b> \\u202eone').waitFor();

    await show(page, '#/audit?category=CACHE');
    await until('nine entries', async () => (await rows.count()) === 9);
    await client.enable('CACHE', { duration: '5m', reason: 'new' });
    await client.enable('ORDERS', { duration: '5m', reason: 'other' });
    await page.getByText('new', { exact: true }).waitFor();
    assert.equal(await rows.count(), 10);
    assert.match(await rows.first().innerText(), /new/);
    await rows.first().getByRole('button', { name: 'enable' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    assert.match(await dialog.innerText(), /CACHE\s+on\s+on/);
    await assertAccessible(page, 'an audit entry');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await assertAccessible(page, 'the audit trail');
    await rows.first().getByRole('link', { name: 'CACHE' }).click();
    assert.match(page.url(), /#\/categories\/CACHE/);

    await show(page, '#/audit?text=change+449');
    await until('one entry', async () => (await rows.count()) === 1);
    await show(page, '#/audit?who=nobody');
    await page.getByText(/No entry|entries searched/).waitFor();
  },
);

browserTest('a trail that was changed on its way is shown as broken', async (t, browser) => {
  const service = await startService(t);
  const client = createRdcpClient({ baseUrl: service.url, apiKey: KEYS.admin });
  for (let each = 0; each < 5; each++) await client.enable('CACHE', { duration: '10m', reason: `change ${each}` });
  const { page } = await signIn(t, browser, service.console);
  await page.route('**/rdcp/v1/audit*', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replace('change 2', 'nothing at all') });
  });
  await show(page, '#/audit');
  await page.getByText('Chain broken').waitFor();
  await page.getByText('Changed since written').waitFor();
  assert.match(await page.locator('.audit-row.broken').innerText(), /nothing at all/);
  await assertAccessible(page, 'a broken chain');
});

browserTest('health says what fails, why and since when, also where it is answered with 503', async (t, browser) => {
  let down = false;
  const service = await startService(t, {
    health: {
      database: () => {
        if (down) throw Object.assign(new Error('x'), { code: 'ECONNREFUSED' });
      },
    },
  });
  const { page } = await signIn(t, browser, `${service.console}#/health`);
  await page.getByText('Every check passes.').waitFor();
  await assertAccessible(page, 'health');
  down = true;
  await sleep(1100);
  await page.getByRole('button', { name: 'Check now' }).click();
  await page.getByText('Unhealthy').first().waitFor();
  await page.getByText(/it failed.*ECONNREFUSED/).waitFor();
  await page.getByText(/since/).first().waitFor();
  await assertAccessible(page, 'health that is not');
});

browserTest('what a credential may not do is not offered, and a link to it says why', async (t, browser) => {
  const service = await startService(t);
  const { page } = await signIn(t, browser, service.console, { key: KEYS.reader });
  for (const [view, text] of [
    ['tail', /may not read lines/],
    ['audit', /needs the scope admin/],
    ['tenants', /has no tenants/],
    ['fleet', /stands alone/],
  ] as const) {
    await show(page, `#/${view}`);
    await page.locator('main').getByText(text).waitFor();
    await assertAccessible(page, view);
  }
});

browserTest('at 320 pixels, at 4K and at 200 % nothing needs scrolling sideways', async (t, browser) => {
  const service = await startService(t, {
    tenancy: { isolation: 'organization', tenants: { acme: { name: 'Acme Ltd' } } },
  });
  const client = createRdcpClient({ baseUrl: service.url, apiKey: KEYS.admin });
  await client.enable('CACHE', { duration: '10m', reason: 'a reason that is rather long, for a row that is not' });
  const cache = service.rdcp.category('CACHE');
  talk(t, 50, (count) => cache.debug(`hit ${count}`, { sql: 'select * from orders where customer = 1' }));
  for (const viewport of [
    { width: 320, height: 640 },
    { width: 640, height: 400 },
    { width: 3840, height: 2160 },
  ]) {
    const { page } = await signIn(t, browser, `${service.console}#/tail?categories=CACHE,ORDERS,DATABASE`, {
      viewport,
    });
    const check = async (what: string) => {
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${what} at ${viewport.width}: ${wide} pixels too wide`);
    };
    await check('tail');
    await page.getByRole('button', { name: 'Start' }).click();
    await page.locator(ROWS).first().click();
    await check('a line');
    for (const view of ['audit', 'fleet', 'health', 'tenants']) {
      await show(page, `#/${view}`);
      await sleep(300);
      await check(view);
    }
  }
});
